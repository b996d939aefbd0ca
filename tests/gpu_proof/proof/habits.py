"""Scripts as people write them for a GPU, a habit each: they train, or are refused in words that say what to write."""
import json

from jobs import check_devices, train
from machine import Failed
from rows import Row

MANIFEST = """apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: habits}}
spec:
  training:
    globalBatchSize: 64
    optimizer: {{type: SGD, sgd: {{momentum: 0.9}}}}
    learningRate: {{base: 0.05}}
    stop: {{maxEpochs: {epochs}}}
  workers:
    replicas: 2
    device: {device}
    command: {command}
  runPolicy: {{backoffLimit: 1}}
"""

TRAINED = ('plain', 'channels_last', 'amp', 'amp16', 'accumulate', 'compile', 'reduce-overhead', 'first')
# Each with a part of what it is told.
REFUSED = {'scaler': 'autocast', 'half': 'want torch.float32', 'late': 'before'}
OF_A_GPU = ('reduce-overhead', 'late')
OF_SMALL = ('channels_last', 'scaler')


def run_one(task, habit):
    folder = task.folder / f'habit-{habit}'
    folder.mkdir()
    manifest = folder / 'job.yaml'
    command = [str(task.programs.python(folder)), str(task.programs.root / 'habit.py'), habit, task.torch_device]
    manifest.write_text(MANIFEST.format(epochs=4 if task.small else 8, device=task.device, command=json.dumps(command)))
    _, state, _ = train(task, manifest)
    check_devices(task, state)
    return sum(worker['steps'] for worker in state['workers'])


def row_of(task, habit):
    name = f'habit, {habit}'
    try:
        steps = run_one(task, habit)
    except Failed as why:
        words = REFUSED.get(habit)
        if words is None or words not in str(why):
            return Row(name, 'failed', str(why))
        return Row(name, 'held', f'refused: {why}')
    if habit in REFUSED:
        return Row(name, 'failed', f'trained, {steps} steps, and was to be refused')
    return Row(name, 'held', f'trains, {steps} steps')


def run(task):
    for habit in OF_SMALL if task.small else (*TRAINED, *REFUSED):
        if task.is_gpu or habit not in OF_A_GPU:
            yield row_of(task, habit)
