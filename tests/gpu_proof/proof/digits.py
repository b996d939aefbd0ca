"""The sample job on the device, to its end."""
from jobs import check_devices, train
from rows import Row

ACCURACY_MIN = 0.95


def run(task):
    summary, state, _ = train(task, task.programs.root / 'samples' / 'digits.yaml', f'spec.workers.device={task.device}')
    devices = check_devices(task, state)
    accuracy = summary['accuracy']
    yield Row('digits, trained', 'held' if accuracy >= ACCURACY_MIN else 'failed',
              f'accuracy {accuracy:.3f}, want {ACCURACY_MIN}; {len(devices)} workers on {task.device}', {'accuracy': accuracy})
