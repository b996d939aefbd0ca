"""All experiments, in the order of the page."""
import wbsp

ALL = [wbsp.EXPERIMENT]
