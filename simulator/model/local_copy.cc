#include "simulator/model/local_copy.h"

namespace paceline::simulator {

void LocalCopy::Rebase(const Values& version) {
  for (size_t i = 0; i < values_.size(); ++i) values_[i] = version[i] + (values_[i] - snapshot_[i]);
  snapshot_ = version;
}

Values LocalCopy::Cut(double scale) {
  Values delta(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    delta[i] = scale * (values_[i] - snapshot_[i]);
    values_[i] = snapshot_[i] + delta[i];
  }
  snapshot_ = values_;
  return delta;
}

}  // namespace paceline::simulator
