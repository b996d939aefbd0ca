#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/local/launch.h"

namespace paceline::local {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

// A variable of this process, as it is for so long.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    const char* const old = std::getenv(name);
    if (old != nullptr) old_ = old;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~Environment() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* const name_;
  std::optional<std::string> old_;
};

TEST(LaunchCommand, ScriptsHaveOneOrderOfSetsUnlessTheUserSaysOtherwise) {
  const std::string parent =
      std::filesystem::temp_directory_path() / fmt::format("paceline-hashes-test-{}", getpid());
  {
    const auto folder = JobFolder::Create(JobFolder::NewPath(parent, "mine"));
    ASSERT_TRUE(folder.ok()) << Message(folder.status());
    LaunchOptions options{.programs_folder = "/bin",
                          .manifest_folder = "/jobs",
                          .model_path = "/out/model.safetensors",
                          .extras = {},
                          .command = {"python3", "train.py"},
                          .seed = 5};
    const auto environment = [&](job::Role role) {
      return LaunchCommand(options, *folder, {.name = "mine-x-1", .role = role, .index = 1})
          .environment;
    };
    const Environment unbuffered("PYTHONUNBUFFERED", nullptr);
    {
      const Environment seed("PYTHONHASHSEED", nullptr);
      for (const job::Role role : {job::Role::kWorker, job::Role::kEvaluator}) {
        EXPECT_THAT(environment(role), Contains(Pair("PYTHONHASHSEED", "5")));
        EXPECT_THAT(environment(role), Contains(Pair("PYTHONUNBUFFERED", "1")));
      }
      EXPECT_THAT(environment(job::Role::kParameterServer), IsEmpty());
      options.seed = (int64_t{1} << 32) + 7;
      EXPECT_THAT(environment(job::Role::kWorker), Contains(Pair("PYTHONHASHSEED", "7")))
          << "Python takes 32 bits";
      options.extras["worker"] = {{{"PYTHONHASHSEED", "random"}}, {}};
      EXPECT_THAT(environment(job::Role::kWorker), Contains(Pair("PYTHONHASHSEED", "random")));
      EXPECT_THAT(environment(job::Role::kWorker), Not(Contains(Pair("PYTHONHASHSEED", "7"))));
    }
    options.extras.clear();
    const Environment seed("PYTHONHASHSEED", "11");
    EXPECT_THAT(environment(job::Role::kWorker), Not(Contains(Pair("PYTHONHASHSEED", _))))
        << "it is inherited";
  }
  std::filesystem::remove_all(parent);
}

}  // namespace
}  // namespace paceline::local
