"""All experiments, in the order of the page."""
import compositions
import dbw
import lb_bsp
import ps_plus
import wbsp

ALL = [dbw.EXPERIMENT, lb_bsp.EXPERIMENT, wbsp.EXPERIMENT, ps_plus.EXPERIMENT, compositions.EXPERIMENT]
