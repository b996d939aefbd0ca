"""What is learnt in the experiments: small models in the place of the papers'."""
import auto_scenarios

# Of the digits sample's MLP, 2,410 parameters, real gradients. 16 samples a worker stand for the papers' batch.
SAMPLES = 16


def digits(workers):
    """Losses are computed as often as a step of BSP makes one."""
    return {**auto_scenarios.DIGITS, "lossEveryPushes": workers}


def quadratic(noise, dimensions=1000):
    """Curvatures of 1 to 1/1000: SGD at the largest rate needs more than a thousand steps."""
    return {"dimensions": dimensions, "noise": noise}
