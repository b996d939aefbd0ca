"""The sample job on the device, to its end: in each precision, and with and without batches that are prepared ahead."""
from jobs import check_devices, train
from rows import Row

ACCURACY_MIN = 0.95
SMALL = ('spec.training.stop={maxEpochs: 8}',)  # Reaches 0.98.


def trained(task, *overrides):
    """(accuracy, samples a second, how many workers)."""
    summary, state, _ = train(task, task.programs.root / 'samples' / 'digits.yaml', f'spec.workers.device={task.device}',
                              *(SMALL if task.small else ()), *overrides)
    return summary['accuracy'], summary['samplesPerSecond'], len(check_devices(task, state))


def run(task):
    # Float16 on a CPU is emulated: slow, and of no interest.
    for precision in ('Float32', 'BFloat16', 'Float16') if task.is_gpu else ('Float32', 'BFloat16'):
        accuracy, speed, workers = trained(task, f'spec.training.precision={precision}')
        yield Row(f'digits, {precision}', 'held' if accuracy >= ACCURACY_MIN else 'failed',
                  f'accuracy {accuracy:.3f}, want {ACCURACY_MIN}; {workers} workers on {task.device}, {speed:.0f} samples/s',
                  {'accuracy': accuracy, 'samples_per_s': speed})
    speeds = {ahead: trained(task, f'spec.data.prefetchBatches={ahead}')[1] for ahead in (0, 2)}
    yield Row('digits, batches ahead', 'measured', f'{speeds[0]:.0f} samples/s without, {speeds[2]:.0f} with two prepared ahead',
              {'samples_per_s_without': speeds[0], 'samples_per_s': speeds[2]})
