#include "lib/sync/schemes/dbw/gain.h"

#include <algorithm>
#include <cmath>

#include "lib/sync/trace/fields.h"

namespace paceline::sync {
namespace {

constexpr double kSmoothnessMin = 1e-6;  // At most 1 / rate, where (1) has its largest step.

}  // namespace

GainEstimator::GainEstimator(uint32_t window, double momentum)
    : window_(window),
      variances_(window),
      loss_variances_(window),
      smoothness_(window),
      reach_(window, momentum) {}

void GainEstimator::AddPush(uint32_t samples, double squared_norm, double loss) {
  ++step_.pushes;
  step_.samples += samples;
  step_.loss += samples * loss;
  step_.norms += samples * squared_norm;
  step_.losses_squared += samples * loss * loss;
}

void GainEstimator::Applied(double learning_rate, double squared_norm, double clip_scale) {
  const Step step = std::exchange(step_, Step{});
  const double rate = learning_rate * clip_scale;
  const bool is_sound = step.pushes > 0 && std::isfinite(squared_norm) &&
                        std::isfinite(step.norms) && std::isfinite(step.loss) && rate > 0;
  if (!is_sound) return;
  const double loss = step.loss / step.samples;
  LearnSmoothness(loss);
  ++steps_since_variance_;
  if (step.pushes >= 2) {
    // Single precision in the pushes can make it negative where the variance is small.
    variances_.Add(std::max(
        (step.norms - step.samples * squared_norm) / static_cast<double>(step.pushes - 1), 0.0));
    loss_variances_.Add(std::max(
        (step.losses_squared - step.samples * loss * loss) / static_cast<double>(step.pushes - 1),
        0.0));
    steps_since_variance_ = 0;
  }
  norms_.emplace_back(squared_norm, 1 / step.samples);
  if (norms_.size() > window_) norms_.pop_front();
  reach_.Add(loss, rate);
  LearnClipNorm(squared_norm, clip_scale);
  loss_before_ = last_ ? last_->loss : 0;
  last_ = Last{.loss = loss,
               .learning_rate = rate * momentum_reach(),
               .samples = step.samples,
               .squared_gradient = squared_gradient(),
               .sample_variance = sample_variance()};
}

// (1) read as an equality for the step before, now that the loss after it is known.
void GainEstimator::LearnSmoothness(double loss) {
  if (!last_ || variances_.is_empty()) return;
  const double rate = last_->learning_rate;
  const double norm = last_->squared_gradient + last_->sample_variance / last_->samples;
  const double estimate =
      2 * (loss - last_->loss + rate * last_->squared_gradient) / (rate * rate * norm);
  if (std::isfinite(estimate)) smoothness_.Add(estimate);
}

// From steps that were clipped, until a longer one is not.
void GainEstimator::LearnClipNorm(double squared_norm, double clip_scale) {
  const double norm = std::sqrt(squared_norm);
  if (clip_scale < 1) {
    clip_norm_ = clip_scale * norm;
  } else if (norm > clip_norm_) {
    clip_norm_ = 0;
  }
}

double GainEstimator::ClipScale(double samples) const {
  const double norm = std::sqrt(squared_gradient() + sample_variance() / samples);
  return clip_norm_ > 0 && norm > clip_norm_ ? clip_norm_ / norm : 1;
}

double GainEstimator::squared_gradient() const {
  if (norms_.empty()) return 0;
  double sum = 0;
  for (const auto& [squared_norm, per_samples] : norms_)
    sum += squared_norm - sample_variance() * per_samples;
  return std::max(sum / static_cast<double>(norms_.size()), 0.0);
}

// The mean of 1 / B.
double GainEstimator::Share() const {
  double sum = 0;
  for (const auto& [squared_norm, per_samples] : norms_) sum += per_samples;
  return norms_.empty() ? 0 : sum / static_cast<double>(norms_.size());
}

double GainEstimator::smoothness() const {
  if (!last_) return 0;
  const double most = 1 / last_->learning_rate;
  if (smoothness_.is_empty()) return most;
  const double estimate = reach_.is_known()
                              ? reach_.Smoothness(squared_gradient(), sample_variance() * Share())
                              : smoothness_.Mean();
  return std::clamp(estimate, std::min(kSmoothnessMin, most), most);
}

double GainEstimator::Gain(double learning_rate, double samples) const {
  const double rate = learning_rate * ClipScale(samples) * momentum_reach();
  const double half = smoothness() * rate * rate / 2;
  return (rate - half) * squared_gradient() - half * sample_variance() / samples;
}

bool GainEstimator::LossRose(double beta) const {
  if (!last_ || loss_before_ <= 0) return false;
  return last_->loss > std::max(beta, 1 + 2 * LossNoise()) * loss_before_;
}

double GainEstimator::LossNoise() const {
  return std::sqrt(loss_variances_.Mean() / last_->samples) / loss_before_;
}

std::string GainEstimator::Save() const {
  FieldWriter line("gain");
  std::vector<double> squares, shares;
  for (const auto& [squared_norm, per_samples] : norms_) {
    squares.push_back(squared_norm);
    shares.push_back(per_samples);
  }
  const auto all = [](const WindowMean& mean) {
    return std::vector<double>(mean.values().begin(), mean.values().end());
  };
  const std::vector<double> none;
  line.AddUnless(none, "variances", all(variances_))
      .AddUnless(none, "norms", squares)
      .AddUnless(none, "shares", shares)
      .AddUnless(none, "smoothness", all(smoothness_))
      .AddUnless(none, "loss-variances", all(loss_variances_))
      .AddUnless(none, "losses", all(reach_.losses()))
      .AddUnless(none, "rates", all(reach_.rates()))
      .AddUnless(0u, "since-variance", steps_since_variance_)
      .AddUnless(0.0, "loss-before", loss_before_)
      .AddUnless(0.0, "clip-norm", clip_norm_);
  if (last_) {
    line.Add("loss", last_->loss)
        .Add("rate", last_->learning_rate)
        .Add("samples", last_->samples)
        .Add("squared-gradient", last_->squared_gradient)
        .Add("variance", last_->sample_variance);
  }
  return line.Take() + "\n";
}

Status GainEstimator::Restore(std::string_view text) {
  Fields fields(text);
  fields.Next<std::string>("kind");
  std::vector<double> variances, squares, shares, smoothness, loss_variances, losses, rates;
  fields.Take("variances", variances);
  fields.Take("norms", squares);
  fields.Take("shares", shares);
  fields.Take("smoothness", smoothness);
  fields.Take("loss-variances", loss_variances);
  fields.Take("losses", losses);
  fields.Take("rates", rates);
  fields.Take("since-variance", steps_since_variance_);
  fields.Take("loss-before", loss_before_);
  fields.Take("clip-norm", clip_norm_);
  Last last;
  if (fields.Take("loss", last.loss)) {
    last.learning_rate = fields.Require<double>("rate");
    last.samples = fields.Require<double>("samples");
    last.squared_gradient = fields.Require<double>("squared-gradient");
    last.sample_variance = fields.Require<double>("variance");
    last_ = last;
  }
  PACELINE_RETURN_IF_ERROR(fields.Finish());
  if (squares.size() != shares.size() || losses.size() != rates.size() ||
      (last_ && !(last.learning_rate > 0 && last.samples > 0)))
    return DataLoss("saved estimates of the gain do not fit together: {}", text);
  for (const double value : variances) variances_.Add(value);
  for (const double value : smoothness) smoothness_.Add(value);
  for (const double value : loss_variances) loss_variances_.Add(value);
  for (size_t i = 0; i < squares.size(); ++i) norms_.emplace_back(squares[i], shares[i]);
  for (size_t i = 0; i < losses.size(); ++i) reach_.Add(losses[i], rates[i]);
  while (norms_.size() > window_) norms_.pop_front();
  return OkStatus();
}

}  // namespace paceline::sync
