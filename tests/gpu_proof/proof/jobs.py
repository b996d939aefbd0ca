"""Jobs of `paceline run`, and what they leave."""
import json
import os
import sys
import tempfile
from pathlib import Path

from machine import Failed


def train(task, manifest, *overrides):
    """(summary, last state, trace) of a job that succeeded: what `paceline run -o json` prints, and what it leaves."""
    runs = Path(tempfile.mkdtemp(dir=task.folder, prefix='runs-'))
    settings = [word for override in overrides for word in ('--set', override)]
    try:
        said = task.programs.run('paceline', 'run', manifest, '-o', 'json', '--runs', runs, *settings, seconds=task.left())
    except Failed:
        for log in sorted(runs.rglob('*.log')):
            print(f'--- {log.name}', log.read_text(errors='replace')[-2000:], sep='\n', file=sys.stderr)
        raise
    summary = json.loads(said)
    if not summary['succeeded']:
        raise Failed(f'{manifest.name} did not succeed')
    folders = [runs / name for name in os.listdir(runs) if (runs / name).is_dir()]
    if len(folders) != 1:
        raise Failed(f'{manifest.name} left {len(folders)} folders of a run, want one')
    state = json.loads((folders[0] / 'summary.json').read_text())
    return summary, state, (folders[0] / 'policy.trace').read_text()


def check_devices(task, state):
    """Failed unless every worker says that it computed on the device that was asked for."""
    devices = [worker.get('device') for worker in state['workers']]
    if not devices or set(devices) != {task.device}:
        raise Failed(f'workers computed on {devices}, want {task.device}')
    return devices
