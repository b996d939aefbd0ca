// Defines ClipScale, the factor of clipping by the global norm (torch.nn.utils.clip_grad_norm_).
#pragma once

namespace paceline::optim {

// max_norm / (norm + 1e-6), at most 1, with norm = sqrt(squared_norm). `max_norm` > 0.
// A squared norm that is not finite gives 1: no factor repairs such a gradient, and a factor of 0
// would hide an infinity as a NaN; whoever judges finiteness sees it as it is.
double ClipScale(double squared_norm, double max_norm);

}  // namespace paceline::optim
