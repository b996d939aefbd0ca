"""What paceline.worker is given is one model that has its values, at most one optimizer, and a process without another worker."""
import contextlib
import io
import json
import unittest

import torch
from safetensors.torch import load_file
from torch import nn

import paceline

from jobs import JobTest

X = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))


def pair():
    torch.manual_seed(0)
    return nn.ModuleDict({"generator": nn.Linear(3, 3), "critic": nn.Linear(3, 1)})


def rate(model, rate=0.1):
    return torch.optim.SGD(model.parameters(), lr=rate)


class GivenTest(unittest.TestCase):
    def refused(self, words, *given):
        with self.assertRaisesRegex(paceline.Misuse, words):
            paceline.worker(*given)

    def test_several_models_are_one_module(self):
        models = pair()
        both = list(models.values())
        for given, kind in ((both, "a list"), (tuple(both), "a tuple"), (dict(models.items()), "a dict"), ("model.pt", "a str")):
            self.refused(rf"hand paceline.worker one torch.nn.Module: got {kind}. .* torch.nn.ModuleDict\(.*the sum of their losses",
                         given, rate(models))

    def test_several_optimizers_are_one_with_groups(self):
        models = pair()
        both = [rate(model) for model in models.values()]
        for given in (both, tuple(both), {"critic": both[1]}, 0.1):
            self.refused(r"hand paceline.worker one optimizer: got an? (list|tuple|dict|float). Several are one with groups.*parameterGroups",
                         models, given)

    def test_without_an_optimizer_it_is_the_job_s(self):
        with self.assertRaisesRegex(paceline.NoJob, "no job has started this process"):
            paceline.worker(pair(), None)

    def test_a_second_worker_is_refused_while_the_first_is_there(self):
        models = pair()
        with paceline.worker(models["generator"], rate(models["generator"])) as w:
            self.refused("take one paceline.worker for all models of a process", models["critic"], rate(models["critic"]))
            for batch in w.data((X,)):
                w.step(models["generator"](batch.x).square().mean())
        with paceline.worker(models["critic"], rate(models["critic"])):
            pass

    def test_lazy_layers_want_one_pass_before(self):
        model = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.LazyLinear(2))
        self.refused(r"make one forward pass before paceline.worker.*model\(example\). Not initialized yet: 0.weight, 0.bias and 6 more",
                     model, rate(nn.Linear(1, 1)))
        with torch.no_grad():
            model(X)
        with paceline.worker(model, rate(model)):
            pass

    def test_a_model_on_the_meta_device_wants_values(self):
        with torch.device("meta"):
            model = nn.Linear(3, 1)
        self.refused(r"give the model its values before paceline.worker: .*to_empty.*without values: weight, bias$", model, rate(nn.Linear(1, 1)))

    def test_what_an_optimizer_has_not_is_said(self):
        models = pair()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            paceline.worker(models, rate(models["critic"]))
            self.assertIn("this optimizer has not: generator.weight, generator.bias; requires_grad_(False)", said.getvalue())
            models["generator"].requires_grad_(False)
            paceline.worker(models, rate(models["critic"]))
        self.assertEqual(said.getvalue().count("\n"), 1)


GAN = """
    import json, torch, paceline
    from torch.nn.functional import binary_cross_entropy_with_logits as entropy
    real = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
    noise = torch.randn(64, 3, generator=torch.Generator().manual_seed(1))
    torch.manual_seed(0)
    models = torch.nn.ModuleDict({"generator": torch.nn.Linear(3, 3), "critic": torch.nn.Linear(3, 1)})
    generator, critic = models["generator"], models["critic"]

    def generators_loss(fake):
        critic.requires_grad_(False)  # It does not learn from this.
        loss = entropy(critic(fake), torch.ones(len(fake), 1))
        critic.requires_grad_(True)
        return loss

    def critics_loss(real, fake):
        return entropy(critic(real), torch.ones(len(real), 1)) + entropy(critic(fake.detach()), torch.zeros(len(fake), 1))
"""


class SeveralModelsTest(JobTest):
    def test_a_generator_and_its_critic_learn_as_with_two_optimizers(self):
        self.script(GAN + """
    seen = []
    with paceline.worker(models) as w:
        for batch in w.data((real, noise)):
            seen.append(batch.indices)
            fake = generator(batch.y)
            if len(seen) % 2: w.step(generators_loss(fake) + critics_loss(batch.x, fake))
            else:
                w.accumulate(critics_loss(batch.x, fake))
                w.step(generators_loss(fake))
    open("seen.json", "w").write(json.dumps(seen))
        """)
        ended = self.run_job("spec.training.parameterGroups=[{match: ['critic.*'], learningRateScale: 0.5}]",
                             "spec.training.globalBatchSize=16", workers=1)
        summary = self.assert_succeeded(ended)
        models, entropy = pair(), nn.functional.binary_cross_entropy_with_logits
        generator, critic = models["generator"], models["critic"]
        real, noise = (torch.randn(64, 3, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
        optimizers = rate(generator), rate(critic, 0.05)
        for indices in json.loads((self.folder / "seen.json").read_text()):
            fake = generator(noise[indices])
            critics_loss = (entropy(critic(real[indices]), torch.ones(len(indices), 1)) +
                            entropy(critic(fake.detach()), torch.zeros(len(indices), 1)))
            generators_loss = entropy(critic(fake), torch.ones(len(indices), 1))
            for optimizer, loss in zip(optimizers, (generators_loss, critics_loss)):
                optimizer.zero_grad()
                loss.backward(retain_graph=True, inputs=optimizer.param_groups[0]["params"])
            for optimizer in optimizers:
                optimizer.step()
        trained = load_file(summary["model"])
        for name, value in models.named_parameters():
            torch.testing.assert_close(trained[name], value.detach(), rtol=1e-5, atol=1e-6)

    def ends_once(self, text, words):
        self.script(GAN + text)
        ended = self.run_job()
        self.assertNotEqual(ended.code, 0, ended.words())
        self.assertRegex(ended.err, words + ".*starting it again is of no use")

    def test_a_worker_for_each_is_refused_once(self):
        self.ends_once("""
    with paceline.worker(generator) as g, paceline.worker(critic) as c:
        for batch in g.data((real, noise)): g.step(generators_loss(generator(batch.y)))
        """, "take one paceline.worker for all models of a process")

    def test_lazy_layers_are_refused_once(self):
        self.ends_once("""
    with paceline.worker(torch.nn.Sequential(torch.nn.LazyLinear(2))) as w:
        for batch in w.data((real, noise)): w.step(w.model(batch.x).mean())
        """, "make one forward pass before paceline.worker")

    def test_what_the_job_does_not_train_is_said(self):
        self.script(GAN + """
    own, mine = torch.optim.SGD(critic.parameters(), lr=0.1), torch.optim.SGD(generator.parameters(), lr=0.1)
    models["tail"] = torch.nn.Linear(1, 1)
    models.pop("critic")
    with paceline.worker(models, mine) as w:
        for batch in w.data((real, noise)):
            fake = generator(batch.y)
            own.zero_grad()
            critics_loss(batch.x, fake).backward()
            own.step()
            w.step(generators_loss(fake))
        """)
        ended = self.run_job(workers=1)
        self.assert_succeeded(ended)
        self.assertEqual(ended.worker_logs().count("trains parameters that paceline.worker was not given"), 1)
        self.assertIn("the job trains parameters that the script's optimizer has not: tail.weight, tail.bias", ended.worker_logs())


if __name__ == "__main__":
    unittest.main()
