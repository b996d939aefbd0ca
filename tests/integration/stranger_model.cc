#include "tests/integration/stranger_model.h"

#include "lib/learn/testing/scripts.h"

namespace paceline::integration {
namespace {

using learn::testing::ScriptKind;

// Scores and what they were made of.
constexpr const char* kBody = R"(
def scores(self, inputs) -> Tuple[Tensor, Tensor]:
    x = inputs.flatten(1)
    x = torch.batch_norm(x, self.norm_weight, self.norm_bias, self.running_mean, self.running_var,
                         self.training, 0.1, 0.00001, False)
    if self.training:
        self.batches.add_(1)
    hidden = torch.relu(torch.matmul(x, self.encode))
    decoded = torch.matmul(hidden, self.decode.t())
    return torch.matmul(x + decoded, self.head), hidden
)";

}  // namespace

const char* const kTupleOutput = R"(
def forward(self, inputs):
    return self.scores(inputs)

def loss(self, inputs, targets):
    logits, hidden = self.forward(inputs)
    return torch.cross_entropy_loss(logits, targets) + 0.0001 * torch.mean(hidden * hidden)
)";
const char* const kDictOutput = R"(
def forward(self, inputs) -> Dict[str, Tensor]:
    logits, hidden = self.scores(inputs)
    return {"hidden": hidden, "logits": logits}

def loss(self, inputs, targets):
    return torch.cross_entropy_loss(self.forward(inputs)["logits"], targets)
)";

void SaveStranger(const std::string& path, const std::string& methods) {
  learn::testing::SaveScript(
      path,
      {{.name = "norm_weight", .shape = {64}, .value = 1},
       {.name = "norm_bias", .shape = {64}},
       {.name = "running_mean", .kind = ScriptKind::kBuffer, .shape = {64}},
       {.name = "running_var", .kind = ScriptKind::kBuffer, .shape = {64}, .value = 1},
       {.name = "batches", .kind = ScriptKind::kBuffer, .type = "long"},
       {.name = "encode", .shape = {64, 64}, .value = 0.001},
       {.name = "decode", .shape = {64, 64}, .tied_to = "encode"},
       {.name = "head", .shape = {64, 10}}},
      kBody + methods);
}

}  // namespace paceline::integration
