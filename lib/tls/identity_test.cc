#include "lib/tls/identity.h"

#include <gtest/gtest.h>

namespace paceline::tls {
namespace {

std::optional<Identity> Of(std::string_view name) { return IdentityOf(name, "digits", "default"); }

TEST(Identity, NamesAreReadAsTheyAreWritten) {
  for (const auto& [identity, name] :
       {std::pair(Identity{Role::kPs, 0}, "ps-0.digits.default"),
        std::pair(Identity{Role::kWorker, 3}, "worker-3.digits.default"),
        std::pair(Identity{Role::kWorker, UINT64_MAX},
                  "worker-18446744073709551615.digits.default"),
        std::pair(Identity{Role::kWorker, 3, "big"}, "big-3.digits.default"),
        std::pair(Identity{Role::kWorker, 0, "a100"}, "a100-0.digits.default"),
        std::pair(Identity{Role::kEvaluator, 0}, "evaluator.digits.default"),
        std::pair(Identity{Role::kOperator, 0}, "operator.digits.default")}) {
    EXPECT_EQ(NameOf(identity, "digits", "default"), name);
    EXPECT_EQ(Of(name), identity) << name;
  }
}

TEST(Identity, NothingElseIsAnybodysName) {
  for (const char* const name : {"",
                                 ".",
                                 "worker.digits.default",
                                 "worker-.digits.default",
                                 "worker-03.digits.default",
                                 "worker--3.digits.default",
                                 "worker-3x.digits.default",
                                 "worker-+3.digits.default",
                                 "worker-18446744073709551616.digits.default",
                                 "worker-3.digits.other",
                                 "worker-3.other.default",
                                 "worker-3.digits.default.",
                                 "worker-3.digits",
                                 "worker-3",
                                 "evaluator-0.digits.default",
                                 "operator-0.digits.default",
                                 "digits-worker-3.digits.default",
                                 "a-100-3.digits.default",
                                 "4g-3.digits.default",
                                 "big.digits.default",
                                 "big-03.digits.default",
                                 "Big-3.digits.default",
                                 "ps-worker-3.digits.default",
                                 "3-worker.digits.default",
                                 "-3.digits.default",
                                 "WORKER-3.digits.default",
                                 "worker-3.digits.default.evil",
                                 "*.digits.default"})
    EXPECT_EQ(Of(name), std::nullopt) << name;
}

}  // namespace
}  // namespace paceline::tls
