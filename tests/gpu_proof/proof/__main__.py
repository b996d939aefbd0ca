"""Shows what Paceline does with a GPU, on the machine that has one. The Python that starts it must have PyTorch 2.11.

    python3 gpu-proof [--device CUDA|CPU] [--json FILE] [--only PART]... [--small] [--seconds N]

--device CPU shows that all of this works where there is no GPU, with smaller models; it proves nothing about GPUs, and says so.
--small takes tiny models and few steps. What is not done after --seconds (570) is left out, and said.

Exit code 0 if nothing failed, 1 if something did or was left out, 2 if this machine cannot run the programs at all.
"""
import argparse
import json
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import digits  # noqa: E402
import gradients  # noqa: E402
import habits  # noqa: E402
import machine  # noqa: E402
import memory  # noqa: E402
import scripts  # noqa: E402
import steps  # noqa: E402
from rows import Row, print_row  # noqa: E402

# In the order of what a GPU must do first.
PARTS = {'gradients': gradients.run, 'memory': memory.run, 'digits': digits.run, 'scripts': scripts.run, 'habits': habits.run, 'steps': steps.run}


def parse():
    parser = argparse.ArgumentParser(prog='gpu-proof', description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--device', choices=['CUDA', 'CPU'], default='CUDA')
    parser.add_argument('--json', type=Path)
    parser.add_argument('--only', choices=list(PARTS), action='append')
    parser.add_argument('--small', action='store_true')
    parser.add_argument('--seconds', type=float, default=570)
    return parser.parse_args()


def rows_of(name, part, task):
    """A part ends with a row that failed where it ends early: what it had shown by then stays."""
    if time.monotonic() > task.deadline:
        yield Row(name, 'left out', f'no time was left of {task.seconds:.0f} s')
        return
    try:
        yield from part(task)
    except machine.Failed as why:
        yield Row(name, 'failed', str(why))
    except Exception as error:  # Whatever it is: the other parts have their own to show.
        traceback.print_exc()
        yield Row(name, 'failed', f'{type(error).__name__}: {error}')


def main():
    options = parse()
    began = time.monotonic()
    try:
        programs = machine.Programs(Path(__file__).parent)
        described = machine.describe(programs, options.device)
    except machine.Unfit as why:
        print(f'gpu-proof: {why}', file=sys.stderr)
        return 2
    for key, value in described.items():
        print(f'{key:<14}{value}')
    rows = []
    with tempfile.TemporaryDirectory(prefix='gpu-proof-') as folder:
        task = machine.Task(programs, options.device, options.small, Path(folder), options.seconds, began + options.seconds)
        for name, part in PARTS.items():
            if options.only and name not in options.only:
                continue
            for row in rows_of(name, part, task):
                print_row(row)
                rows.append(row)
    seconds = round(time.monotonic() - began, 1)
    is_bad = any(row.verdict in ('failed', 'left out') for row in rows)
    print(f'{len(rows)} rows in {seconds} s, {"not all is well" if is_bad else "nothing failed"}')
    if options.device == 'CPU':
        print('On the CPU: this says nothing about GPUs.')
    if options.json:
        options.json.write_text(json.dumps({**described, 'seconds': seconds, 'rows': [row.as_json() for row in rows]}, indent=1))
    return 1 if is_bad else 0


if __name__ == '__main__':
    sys.exit(main())
