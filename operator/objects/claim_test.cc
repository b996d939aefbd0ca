// Whose a job is, by what its ConfigMap says and what the operator was told.
#include "operator/objects/claim.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::controller {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

Installation Made(const std::string& name_space, const std::string& name, char seed) {
  return MakeInstallation(name_space, name, std::string(32, seed)).value();
}

const Installation kOwn = Made("team-a", "paceline-operator", 'a');
const Installation kOther = Made("team-b", "paceline-operator", 'b');

std::string KeptWith(const std::string& id, const KnownInstallations& known, JobLife life) {
  const auto keeper = JudgeClaim(id, known, life);
  return keeper ? keeper->id + " by " + keeper->installation.id : "another's";
}
std::string ByOwn() { return kOwn.id + " by " + kOwn.id; }

constexpr JobLife kLives[] = {JobLife::kRuns, JobLife::kIsToStop, JobLife::kIsIdle};

TEST(Claim, AnIdSaysWhereAndTellsNothingOfTheSeed) {
  EXPECT_THAT(kOwn.id, MatchesRegex("team-a/paceline-operator/[0-9a-f]{16}"));
  EXPECT_EQ(PlaceOfInstallation(kOwn.id), "team-a/paceline-operator");
  EXPECT_NE(FingerprintIn(kOwn.id), FingerprintIn(kOther.id));
  EXPECT_EQ(FingerprintIn(Made("x", "y", 'a').id), FingerprintIn(kOwn.id));
  EXPECT_THAT(kOwn.id, Not(HasSubstr("61616161")));
  EXPECT_FALSE(MakeInstallation("a", "b", "short").ok());
}

TEST(Claim, WhatNobodyHasOrThisOneHasIsOurs) {
  const KnownInstallations known{.with_seeds = {kOwn}};
  for (const JobLife life : kLives) {
    EXPECT_EQ(KeptWith("", known, life), ByOwn());
    EXPECT_EQ(KeptWith(kOwn.id, known, life), ByOwn());
    EXPECT_EQ(KeptWith(kOther.id, known, life), "another's");
    EXPECT_EQ(KeptWith(std::string(kUnknownInstallation), known, life), "another's");
  }
}

// Another operator of the namespace, with the same Secret, may be alive.
TEST(Claim, ASharedSeedAloneMakesNoJobOurs) {
  const std::string neighbour = Made("team-a", "another", 'a').id;
  EXPECT_EQ(KeptWith(neighbour, {.with_seeds = {kOwn}}, JobLife::kIsIdle), "another's");
  const KnownInstallations adopting{.with_seeds = {kOwn}, .adopted = {neighbour}};
  EXPECT_EQ(KeptWith(neighbour, adopting, JobLife::kRuns), ByOwn());
}

TEST(Claim, WithoutItsSeedAJobIsAdoptedWhenItIsSuspended) {
  for (const char* const adopted : {kOther.id.c_str(), "*"}) {
    const KnownInstallations known{.with_seeds = {kOwn}, .adopted = {"else/where/0", adopted}};
    EXPECT_EQ(KeptWith(kOther.id, known, JobLife::kRuns), "another's");
    EXPECT_EQ(KeptWith(kOther.id, known, JobLife::kIsToStop), ByOwn());
    EXPECT_EQ(KeptWith(kOther.id, known, JobLife::kIsIdle), ByOwn());
  }
  const KnownInstallations all{.with_seeds = {kOwn}, .adopted = {"*"}};
  EXPECT_EQ(KeptWith(std::string(kUnknownInstallation), all, JobLife::kIsIdle), ByOwn());
}

TEST(Claim, WithItsSeedAJobIsKeptByThatUntilNothingOfItRuns) {
  const Installation seed = Made("team-a", "secret-of-b", 'b');
  const KnownInstallations known{.with_seeds = {kOwn, seed}, .adopted = {kOther.id}};
  const std::string here = "team-a/paceline-operator/" + FingerprintIn(kOther.id);
  EXPECT_EQ(KeptWith(kOther.id, known, JobLife::kRuns), here + " by " + seed.id);
  EXPECT_EQ(KeptWith(kOther.id, known, JobLife::kIsToStop), here + " by " + seed.id);
  EXPECT_EQ(KeptWith(here, known, JobLife::kRuns), here + " by " + seed.id);
  // Should the other one live yet, it has it no more.
  EXPECT_EQ(KeptWith(here, {.with_seeds = {kOther}}, JobLife::kRuns), "another's");
  EXPECT_EQ(KeptWith(kOther.id, known, JobLife::kIsIdle), ByOwn());
}

TEST(Claim, IsReadAsItWasPut) {
  Json map = {{"metadata", {{"name", "digits-job"}}}};
  EXPECT_EQ(ClaimIn(map), "");
  PutClaim(map, kOwn.id);
  EXPECT_EQ(ClaimIn(map), kOwn.id);
}

}  // namespace
}  // namespace paceline::controller
