"""Whatever a script says of its end, it arrives."""
import os
import unittest

from jobs import JobTest
from paceline._words import encoded, named, words_of


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


ODD = (("cannot read " + os.fsdecode(b"/data/Stra\xdfe 7.jpg"), rb"cannot read /data/Stra\udcdfe 7.jpg"),
       ("\ud83d alone", rb"\ud83d alone"),
       ("cut\0here", rb"cut\x00here"),
       ("Straße 学習 🚀", "Straße 学習 🚀".encode()),
       ("", b""))


class OddWordsTest(JobTest):
    def test_what_is_no_text_is_written_out(self):
        for words, wanted in ODD:
            self.assertEqual(encoded(words), wanted)
            self.assertEqual(encoded(named(ValueError(words))), b"ValueError: " + wanted)

    def test_an_exception_that_cannot_say_what_it_is(self):
        self.assertEqual(words_of(Mute()), "(its __str__ raised RuntimeError)")
        self.assertEqual(named(Mute()), "Mute: (its __str__ raised RuntimeError)")

    def ends(self, how):
        self.script(f"""
    import os, sys, torch, paceline
    x = torch.randn(400, 4); y = (x.sum(1) > 0).long()
    model = torch.nn.Linear(4, 2)
    class Mute(Exception):
        def __str__(self): raise RuntimeError("no words")
    with paceline.worker(model) as w:
        for number, batch in enumerate(w.data((x, y))):
            if number == 2:
                {how}
            w.step(torch.nn.functional.cross_entropy(model(batch.x), batch.y))
        """)
        ended = self.run_job("spec.runPolicy.backoffLimit=0")
        self.assertEqual(ended.code, 1, ended.words())
        self.assertNotIn("UnicodeEncodeError", ended.err)
        self.assertNotIn("\x1b", ended.err)
        return ended

    def test_the_scripts_own_exception_is_the_last_word(self):
        ended = self.ends('raise ValueError("cannot read " + os.fsdecode(b"/data/Stra\\xdfe 7.jpg"))')
        self.assertIn(r"ValueError: cannot read /data/Stra\udcdfe 7.jpg (train.py, line", ended.err)
        ended = self.ends("raise Mute()")
        self.assertIn("Mute: (its __str__ raised RuntimeError)", ended.err)

    def test_the_last_line_of_a_script_that_ends_without_one(self):
        ended = self.ends(r'sys.stderr.buffer.write(b"\r\x1b[2J\x1b]0;mine\x07gone f\xfcr good\n"); sys.stderr.flush(); os._exit(7)')
        self.assertIn(r"\x1b[2J\x1b]0;mine\x07gone f\xfcr good", ended.err)


if __name__ == "__main__":
    unittest.main()
