"""One line of the table."""
import dataclasses

# held, missed: there is a bound, and it was kept or not (a speed that is missed is no failure of the program).
# measured: there is none. failed: something that must work does not. left out: there was no time.
VERDICTS = ('held', 'missed', 'measured', 'failed', 'left out')


@dataclasses.dataclass
class Row:
    name: str
    verdict: str
    text: str
    figures: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        assert self.verdict in VERDICTS, self.verdict

    def as_json(self):
        return {'name': self.name, 'verdict': self.verdict, 'text': self.text, **self.figures}


def print_row(row):
    print(f'{row.name:<34}{row.verdict:<10}{row.text}', flush=True)
