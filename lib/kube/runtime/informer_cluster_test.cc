// Informers, and a controller on them, against a real kube-apiserver.
#include <atomic>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/owner_reference.h"
#include "lib/kube/runtime/controller.h"
#include "lib/kube/runtime/expectations.h"
#include "lib/kube/runtime/informer.h"
#include "lib/kube/runtime/testing/cluster_fixture.h"
#include "lib/kube/testing/tcp_proxy.h"

namespace paceline::kube {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

class InformerCluster : public RuntimeCluster {
 protected:
  InformerOptions Options() const {
    return {.resource = ConfigMaps(),
            .name_space = ns_,
            .indexes = {{"owner", OwnerUid}, {"app", LabelValue("app")}},
            .page_size = 3,
            .backoff_min = Seconds(0.05),
            .backoff_max = Seconds(0.5)};
  }
  InformerHandler Handler() {
    return {
        .changed =
            [this](const ObjectChange& change) {
              gate_.Change([&] {
                told_.push_back((!change.before ? "+"
                                 : change.after ? "~"
                                                : "-") +
                                Name(*change.object()));
              });
            },
        .failed =
            [this](const std::string& what, const Status& status) {
              gate_.Change([&] { failures_.push_back(what + (IsExpired(status) ? " 410" : "")); });
            }};
  }
  // Waits for that to be told.
  bool IsTold(const std::string& text) {
    return gate_.WaitUntil(
        [&] { return std::find(told_.begin(), told_.end(), text) != told_.end(); });
  }
  void MustCreate(const std::string& name, const StringMap& labels = {}) {
    const auto made = client_->Call(Create(ConfigMaps(), ConfigMap(name, labels)));
    ASSERT_TRUE(made.ok()) << made.status();
  }

  Gate gate_;
  std::vector<std::string> told_, failures_;
};

std::vector<std::string> Names(const std::vector<ObjectPtr>& objects) {
  std::vector<std::string> names;
  for (const ObjectPtr& object : objects) names.push_back(Name(*object));
  return names;
}

TEST_F(InformerCluster, FollowsWhatIsCreatedChangedAndDeleted) {
  for (int i = 0; i < 8; ++i) MustCreate("m" + std::to_string(i), {{"app", i < 2 ? "x" : "y"}});
  Informer informer(*client_, Options(), Handler());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(Seconds(60)).ok());
  EXPECT_EQ(informer.size(), 8u);  // In three pages.
  EXPECT_THAT(Names(informer.ByIndex("app", "x")), ElementsAre("m0", "m1"));

  Json owned = ConfigMap("owned");
  const Json owner = client_->Call(Get(ConfigMaps(), {ns_, "m0"})).value();
  ASSERT_TRUE(SetController(owner, owned).ok());
  ASSERT_TRUE(client_->Call(Create(ConfigMaps(), owned)).ok());
  ASSERT_TRUE(client_
                  ->Call(MergePatch(ConfigMaps(), {ns_, "m1"},
                                    {{"metadata", {{"labels", {{"app", "y"}}}}}}))
                  .ok());
  ASSERT_TRUE(client_->Call(Delete(ConfigMaps(), {ns_, "m7"})).ok());
  ASSERT_TRUE(IsTold("-m7"));
  EXPECT_THAT(told_, Contains("+owned"));
  EXPECT_THAT(told_, Contains("~m1"));
  EXPECT_THAT(Names(informer.ByIndex("owner", Uid(owner))), ElementsAre("owned"));
  EXPECT_THAT(Names(informer.ByIndex("app", "x")), ElementsAre("m0"));
  EXPECT_EQ(informer.Find({ns_, "m7"}), nullptr);
  const ObjectPtr seen = informer.Find({ns_, "m1"});
  EXPECT_EQ(Find(*seen, "/metadata/managedFields"), nullptr);
  EXPECT_TRUE(failures_.empty());
}

TEST_F(InformerCluster, WhatLeavesTheSelectionIsGone) {
  MustCreate("a", {{"app", "x"}});
  MustCreate("b", {{"app", "y"}});
  InformerOptions options = Options();
  options.label_selector = "app=x";
  Informer informer(*client_, options, Handler());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(Seconds(60)).ok());
  EXPECT_THAT(Names(informer.Objects()), ElementsAre("a"));
  const auto relabel = [&](const char* name, const char* value) {
    EXPECT_TRUE(client_
                    ->Call(MergePatch(ConfigMaps(), {ns_, name},
                                      {{"metadata", {{"labels", {{"app", value}}}}}}))
                    .ok());
  };
  relabel("b", "x");
  ASSERT_TRUE(IsTold("+b"));
  relabel("a", "y");
  ASSERT_TRUE(IsTold("-a"));
  EXPECT_THAT(Names(informer.Objects()), ElementsAre("b"));
}

TEST_F(InformerCluster, MetadataAloneIsEnoughToCount) {
  Json map = ConfigMap("a", {{"app", "x"}});
  map["data"]["big"] = std::string(10000, 'x');
  ASSERT_TRUE(client_->Call(Create(ConfigMaps(), map)).ok());
  InformerOptions options = Options();
  options.extent = Extent::kMetadata;
  Informer informer(*client_, options, Handler());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(Seconds(60)).ok());
  map["metadata"]["name"] = "b";
  ASSERT_TRUE(client_->Call(Create(ConfigMaps(), map)).ok());
  ASSERT_TRUE(IsTold("+b"));
  for (const ObjectPtr& object : informer.Objects()) {
    EXPECT_EQ(object->find("data"), object->end());
    EXPECT_EQ(StringAt(*object, "/kind"), "PartialObjectMetadata");
  }
  EXPECT_THAT(Names(informer.ByIndex("app", "x")), ElementsAre("a", "b"));
}

TEST_F(InformerCluster, ARestartOfTheServerLosesNothing) {
  MustCreate("before");
  Informer informer(*client_, Options(), Handler());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(Seconds(60)).ok());
  server_->KillApiServer();
  ASSERT_TRUE(gate_.WaitUntil([&] { return !failures_.empty(); }));
  const Status restarted = server_->StartApiServer();
  ASSERT_TRUE(restarted.ok()) << restarted;
  MustCreate("after");
  ASSERT_TRUE(IsTold("+after"));
  EXPECT_THAT(Names(informer.Objects()), ElementsAre("after", "before"));
  EXPECT_EQ(std::count(told_.begin(), told_.end(), "+before"), 1);
}

TEST_F(InformerCluster, ACutConnectionIsResumedWithoutAList) {
  MustCreate("a");
  testing::TcpProxy link(server_->port());
  const auto client = NewClient(link.port());
  Informer informer(*client, Options(), Handler());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(Seconds(60)).ok());
  link.Cut();
  MustCreate("b");
  ASSERT_TRUE(gate_.WaitUntil([&] { return !failures_.empty(); }));
  link.Restore();
  ASSERT_TRUE(IsTold("+b"));
  EXPECT_THAT(told_, ElementsAre("+a", "+b"));
}

TEST_F(InformerCluster, AfterCompactionAllIsListedAgain) {
  for (const char* name : {"gone", "kept", "changed"}) MustCreate(name);
  testing::TcpProxy link(server_->port());
  const auto client = NewClient(link.port());
  Informer informer(*client, Options(), Handler());
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(Seconds(60)).ok());
  link.Cut();
  ASSERT_TRUE(client_->Call(Delete(ConfigMaps(), {ns_, "gone"})).ok());
  ASSERT_TRUE(
      client_->Call(MergePatch(ConfigMaps(), {ns_, "changed"}, {{"data", {{"a", "b"}}}})).ok());
  MustCreate("new");
  // etcd forgets, and so does the server's own cache of what happened.
  const Status compacted = server_->CompactEtcd();
  ASSERT_TRUE(compacted.ok()) << compacted;
  server_->StopApiServer();
  const Status restarted = server_->StartApiServer();
  ASSERT_TRUE(restarted.ok()) << restarted;
  link.Restore();
  ASSERT_TRUE(IsTold("+new"));
  EXPECT_THAT(failures_, Contains("watch 410"));
  EXPECT_THAT(Names(informer.Objects()), ElementsAre("changed", "kept", "new"));
  EXPECT_THAT(told_, ElementsAre("+changed", "+gone", "+kept", "-gone", "~changed", "+new"));
}

// A controller that keeps three children with names chosen by the server: the worst case, since a
// second creation is no conflict.
TEST_F(InformerCluster, AStaleCacheNeverCausesADoubleCreation) {
  MustCreate("owner", {{"role", "owner"}});
  const Json owner = client_->Call(Get(ConfigMaps(), {ns_, "owner"})).value();
  const ObjectKey owner_key{ns_, "owner"};
  testing::TcpProxy link(server_->port());
  const auto watching = NewClient(link.port());
  Expectations expectations;
  InformerOptions options = Options();
  options.label_selector = "role=child";
  InformerHandler handler = Handler();
  handler.changed = [&, tell = handler.changed](const ObjectChange& change) {
    expectations.Saw(change);
    tell(change);
  };
  Informer children(*watching, options, handler);
  children.Start();
  ASSERT_TRUE(children.WaitForSync(Seconds(60)).ok());
  link.Freeze();  // The cache sees nothing from here on.

  std::atomic<int> reconciles = 0, creations = 0;
  Controller controller(
      {.name = "three",
       .threads = 2,
       .reconcile = [&](const ObjectKey& key) -> StatusOr<Result> {
         ++reconciles;
         if (!expectations.AreMet(key)) return Result{};
         for (size_t i = children.ByIndex("owner", Uid(owner)).size(); i < 3; ++i) {
           Json child = ConfigMap(fmt::format("child-{}", ++creations), {{"role", "child"}});
           PACELINE_RETURN_IF_ERROR(SetController(owner, child));
           expectations.ExpectCreation(key, KeyOf(child));
           PACELINE_RETURN_IF_ERROR(client_->Call(Create(ConfigMaps(), child)).status());
         }
         return Result{};
       },
       .observe =
           [&](const ReconcileRecord& record) {
             EXPECT_TRUE(record.status.ok()) << record.status;
             gate_.Change([] {});
           }});
  controller.Start();
  for (int i = 1; i <= 10; ++i) {
    controller.queue().Add(owner_key);
    ASSERT_TRUE(gate_.WaitUntil([&] { return reconciles >= i; }));
  }
  EXPECT_EQ(creations, 3);
  link.Thaw();
  ASSERT_TRUE(IsTold("+child-3"));
  EXPECT_TRUE(expectations.AreMet(owner_key));
  const int before = reconciles;
  controller.queue().Add(owner_key);
  ASSERT_TRUE(gate_.WaitUntil([&] { return reconciles > before; }));
  controller.Stop();
  EXPECT_EQ(creations, 3);
  EXPECT_EQ(client_->ListAll(ConfigMaps(), {.name_space = ns_, .label_selector = "role=child"})
                ->items.size(),
            3u);
}

}  // namespace
}  // namespace paceline::kube
