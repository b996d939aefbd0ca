#include "ps-server/model/final_model.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "lib/store/safetensors.h"

namespace paceline::ps {
namespace {

namespace fs = std::filesystem;
using protocol::FrozenTensor;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const FrozenTensor kBase{"base", "bfloat16 [2]", "1"}, kHead{"head", "uint8 [3]", "2"};

class FinalModelTest : public ::testing::Test {
 protected:
  FinalModelTest() {
    std::string pattern = ::testing::TempDir() + "model-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~FinalModelTest() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  // Writes the file that a worker hands over, with both tensors; `said` is what the worker says of
  // them.
  std::string Handed(const std::string& said) {
    const std::vector<std::byte> bytes(4, std::byte{5});
    EXPECT_TRUE(
        store::WriteSafetensors(
            Path("handed"),
            {{.name = "base", .type = store::SafetensorsType::kBF16, .shape = {2}, .bytes = bytes},
             {.name = "head",
              .type = store::SafetensorsType::kU8,
              .shape = {3},
              .bytes = std::span(bytes).first(3)}},
            said.empty() ? std::map<std::string, std::string>()
                         : std::map<std::string, std::string>{{"frozen", said}})
            .ok());
    return Path("handed");
  }

  // What is left out.
  std::vector<std::string> Write(const std::string& handed) {
    const store::Layout layout = *store::Layout::Create({{"w", {2}}});
    std::vector<std::byte> bytes(layout.total_bytes());
    const float two[2] = {1, 2};
    std::memcpy(bytes.data(), two, sizeof(two));
    const auto left_out = WriteFinalModel(Path("model"), layout, bytes, {kBase, kHead}, handed);
    EXPECT_TRUE(left_out.ok()) << left_out.status();
    return *left_out;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    const auto model = store::SafetensorsFile::Open(Path("model"));
    for (const store::SafetensorsTensor& tensor : model->tensors()) names.push_back(tensor.name);
    return names;
  }

  std::string folder_;
};

TEST_F(FinalModelTest, HoldsWhatWasHandedOver) {
  EXPECT_THAT(Write(Handed(R"({"base": ["bfloat16 [2]", "1"], "head": ["uint8 [3]", "2"]})")),
              IsEmpty());
  EXPECT_THAT(Names(), UnorderedElementsAre("w", "base", "head"));
  const auto model = store::SafetensorsFile::Open(Path("model"));
  EXPECT_EQ(model->Find("base")->type, store::SafetensorsType::kBF16);
  EXPECT_THAT(model->Find("base")->shape, ElementsAre(2));
  EXPECT_EQ(model->Find("base")->bytes[3], std::byte{5});
  EXPECT_FALSE(model->metadata().contains("left_out"));
}

TEST_F(FinalModelTest, LeavesOutWhatHasAnotherDigestOrTypeAndNamesIt) {
  for (const char* const head : {R"(["uint8 [3]", "3"])", R"(["int8 [3]", "2"])", R"("2")"}) {
    EXPECT_THAT(
        Write(Handed(R"({"base": ["bfloat16 [2]", "1"], "head": )" + std::string(head) + "}")),
        ElementsAre("head"));
    EXPECT_THAT(Names(), UnorderedElementsAre("w", "base"));
    const auto model = store::SafetensorsFile::Open(Path("model"));
    EXPECT_EQ(model->metadata().at("left_out"), R"({"head":["uint8 [3]","2"]})");
  }
}

TEST_F(FinalModelTest, LeavesAllOutWhereNothingCanBeRead) {
  for (const std::string& handed :
       {std::string(), Path("none"), Handed(""), Handed("no JSON"), Handed("[]")}) {
    EXPECT_THAT(Write(handed), ElementsAre("base", "head"));
    EXPECT_THAT(Names(), ElementsAre("w"));
  }
}

}  // namespace
}  // namespace paceline::ps
