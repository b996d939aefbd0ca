// The client against a real kube-apiserver.
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/base64.h"
#include "lib/kube/client/client.h"
#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/core/owner_reference.h"
#include "lib/kube/testing/api_server.h"

namespace paceline::kube {
namespace {

using ::testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json Object(const char* kind, const std::string& name_space, const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", kind},
          {"metadata", {{"namespace", name_space}, {"name", name}}}};
}

Json ConfigMap(const std::string& name_space, const std::string& name, const std::string& value) {
  Json map = Object("ConfigMap", name_space, name);
  map["data"]["value"] = value;
  return map;
}

class ClientCluster : public ::testing::Test {
 protected:
  void SetUp() override {
    PACELINE_API_SERVER_OR_SKIP(server);
    server_ = &server;
    client_ =
        Client::Create(LoadKubeconfig(server.kubeconfig()).value(), {.user_agent = "client-test"})
            .value();
    // A namespace of its own for each test.
    const Json made =
        client_->Call(Create(Namespaces(), {{"metadata", {{"generateName", "test-"}}}})).value();
    ns_ = Name(made);
  }

  std::unique_ptr<Client> As(const std::string& user, const std::vector<std::string>& groups = {}) {
    const auto files = server_->MakeUser(user, groups);
    EXPECT_TRUE(files.ok()) << files.status();
    return Client::Create(LoadKubeconfig(files->kubeconfig).value()).value();
  }

  // A token of a service account that may do what `rules` say, in the namespace.
  std::string TokenFor(const std::string& account, const Json& rules) {
    EXPECT_TRUE(
        client_->Call(Create(ServiceAccounts(), Object("ServiceAccount", ns_, account))).ok());
    Json role = {{"metadata", {{"namespace", ns_}, {"name", account}}}, {"rules", rules}};
    EXPECT_TRUE(client_->Call(Create(Roles(), role)).ok());
    Json binding = {
        {"metadata", {{"namespace", ns_}, {"name", account}}},
        {"roleRef",
         {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", account}}},
        {"subjects",
         Json::array({{{"kind", "ServiceAccount"}, {"name", account}, {"namespace", ns_}}})}};
    EXPECT_TRUE(client_->Call(Create(RoleBindings(), binding)).ok());
    Json request = Object("TokenRequest", ns_, account);
    request["apiVersion"] = "authentication.k8s.io/v1";
    request["spec"] = {{"expirationSeconds", 3600}};
    const auto token = client_->Call(Create(ServiceAccounts(), request, {.subresource = "token"}));
    EXPECT_TRUE(token.ok()) << token.status();
    return StringAt(*token, "/status/token");
  }

  testing::ApiServer* server_ = nullptr;
  std::unique_ptr<Client> client_;
  std::string ns_;
};

TEST_F(ClientCluster, WritesAndReadsObjects) {
  const auto made = client_->Call(Create(ConfigMaps(), ConfigMap(ns_, "a", "1")));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(Find(*made, "/metadata/managedFields"), nullptr);
  Json changed = *made;
  changed["data"]["value"] = "2";
  ASSERT_TRUE(client_->Call(Update(ConfigMaps(), changed)).ok());
  EXPECT_EQ(StringAt(client_->Call(Get(ConfigMaps(), {ns_, "a"})).value(), "/data/value"), "2");
  const auto patched = client_->Call(
      MergePatch(ConfigMaps(), {ns_, "a"}, {{"data", {{"value", nullptr}, {"b", "c"}}}}));
  EXPECT_EQ(patched.value()["data"], Json({{"b", "c"}}));
  EXPECT_TRUE(client_->Call(Delete(ConfigMaps(), {ns_, "a"})).ok());
  EXPECT_TRUE(IsNotFound(client_->Call(Get(ConfigMaps(), {ns_, "a"})).status()));
  EXPECT_TRUE(IgnoreNotFound(client_->Call(Delete(ConfigMaps(), {ns_, "a"})).status()).ok());
}

TEST_F(ClientCluster, RefusalsSayWhatAndWhy) {
  ASSERT_TRUE(client_->Call(Create(ConfigMaps(), ConfigMap(ns_, "a", "1"))).ok());
  const Status again = client_->Call(Create(ConfigMaps(), ConfigMap(ns_, "a", "1"))).status();
  EXPECT_TRUE(IsAlreadyExists(again)) << again;
  EXPECT_EQ(ApiErrorOf(again)->name, "a");

  const Status bad = client_->Call(Create(ConfigMaps(), ConfigMap(ns_, "B_d", "1"))).status();
  EXPECT_TRUE(IsInvalid(bad)) << bad;
  EXPECT_EQ(ApiErrorOf(bad)->causes.at(0).field, "metadata.name");
  EXPECT_THAT(Message(bad), HasSubstr("Invalid: ConfigMap \"B_d\" is invalid"));

  Json old = client_->Call(Get(ConfigMaps(), {ns_, "a"})).value();
  ASSERT_TRUE(
      client_->Call(MergePatch(ConfigMaps(), {ns_, "a"}, {{"data", {{"value", "2"}}}})).ok());
  const Status conflict = client_->Call(Update(ConfigMaps(), old)).status();
  EXPECT_TRUE(IsConflict(conflict)) << conflict;
  EXPECT_EQ(conflict.code(), StatusCode::kAborted);
}

TEST_F(ClientCluster, DryRunsStoreNothing) {
  EXPECT_TRUE(
      client_->Call(Create(ConfigMaps(), ConfigMap(ns_, "a", "1"), {.dry_run = true})).ok());
  EXPECT_TRUE(IsNotFound(client_->Call(Get(ConfigMaps(), {ns_, "a"})).status()));
}

TEST_F(ClientCluster, ApplyCreatesOwnsAndYieldsOnlyByForce) {
  const auto apply = [&](const char* manager, const char* value, bool force) {
    return client_->Call(Apply(ConfigMaps(), ConfigMap(ns_, "a", value),
                               {.field_manager = manager, .force = force}));
  };
  ASSERT_TRUE(apply("one", "1", false).ok());
  const std::string version = ResourceVersion(apply("one", "1", false).value());
  EXPECT_EQ(ResourceVersion(apply("one", "1", false).value()), version);  // Nothing to write.
  const Status other = apply("two", "2", false).status();
  EXPECT_TRUE(IsConflict(other)) << other;
  EXPECT_THAT(Message(other), HasSubstr("conflict with \"one\""));
  EXPECT_EQ(StringAt(apply("two", "2", true).value(), "/data/value"), "2");
}

TEST_F(ClientCluster, DeletesOnlyWhatWasMeant) {
  const Json made = client_->Call(Create(ConfigMaps(), ConfigMap(ns_, "a", "1"))).value();
  const Status wrong_uid =
      client_->Call(Delete(ConfigMaps(), KeyOf(made), {.uid = "00000000-0000"})).status();
  EXPECT_TRUE(IsConflict(wrong_uid)) << wrong_uid;
  const Status wrong_version =
      client_->Call(Delete(ConfigMaps(), KeyOf(made), {.resource_version = "1"})).status();
  EXPECT_TRUE(IsConflict(wrong_version)) << wrong_version;
  EXPECT_TRUE(client_
                  ->Call(Delete(ConfigMaps(), KeyOf(made),
                                {.uid = Uid(made), .resource_version = ResourceVersion(made)}))
                  .ok());
}

TEST_F(ClientCluster, ForegroundDeletionWaitsForDependents) {
  const Json owner = client_->Call(Create(ConfigMaps(), ConfigMap(ns_, "owner", "1"))).value();
  ASSERT_TRUE(
      client_->Call(Delete(ConfigMaps(), KeyOf(owner), {.propagation = Propagation::kForeground}))
          .ok());
  // No garbage collector runs here: the finalizer stays and shows that the policy arrived.
  const Json going = client_->Call(Get(ConfigMaps(), KeyOf(owner))).value();
  EXPECT_TRUE(IsBeingDeleted(going));
  EXPECT_TRUE(HasFinalizer(going, "foregroundDeletion"));
}

// An owner is deleted each way, with the real garbage collector.
TEST_F(ClientCluster, WhatIsOwnedIsDeletedAsThePolicySays) {
  const Status started = server_->StartControllers("garbage-collector-controller");
  if (testing::MaySkip(started)) GTEST_SKIP() << started;
  ASSERT_TRUE(started.ok()) << started;
  const std::pair<const char*, Propagation> cases[] = {{"background", Propagation::kBackground},
                                                       {"foreground", Propagation::kForeground},
                                                       {"orphan", Propagation::kOrphan}};
  for (const auto& [name, policy] : cases) {
    const Json owner = client_->Call(Create(ConfigMaps(), ConfigMap(ns_, name, "1"))).value();
    Json child = ConfigMap(ns_, std::string(name) + "-child", "1");
    ASSERT_TRUE(SetController(owner, child).ok());
    ASSERT_TRUE(client_->Call(Create(ConfigMaps(), child)).ok());
    ASSERT_TRUE(
        client_
            ->Call(Delete(ConfigMaps(), KeyOf(owner), {.uid = Uid(owner), .propagation = policy}))
            .ok());
  }
  // Follows until only the orphan is left, and nobody owns it.
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Json> held;
  const ObjectList before = client_->ListAll(ConfigMaps(), {.name_space = ns_}).value();
  for (const Json& object : before.items) held[Name(object)] = object;
  CallHandle watch = client_->StartWatch(
      ConfigMaps(), {.name_space = ns_, .resource_version = before.resource_version},
      {.event =
           [&](WatchEvent event) {
             std::lock_guard lock(mutex);
             if (event.type == WatchEventType::kDeleted) {
               held.erase(Name(event.object));
             } else if (event.type != WatchEventType::kBookmark) {
               held[Name(event.object)] = event.object;
             }
             changed.notify_all();
           },
       .end = [](Status) {}});
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(120), [&] {
    return held.size() == 1 && held.contains("orphan-child") &&
           OwnerReferences(held["orphan-child"]).empty();
  })) << held.size();
  lock.unlock();
  watch.Cancel();
  client_->loop().RunAndWait([] {});
  server_->StopControllers();
}

TEST_F(ClientCluster, StatusAndScaleAreWrittenApart) {
  const Json deployment = Json::parse(R"({"apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {"name": "d"}, "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})");
  Json object = deployment;
  object["metadata"]["namespace"] = ns_;
  ASSERT_TRUE(client_->Call(Create(Deployments(), object)).ok());
  const auto scaled = client_->Call(MergePatch(
      Deployments(), {ns_, "d"}, {{"spec", {{"replicas", 3}}}}, {.subresource = "scale"}));
  ASSERT_TRUE(scaled.ok()) << scaled.status();
  EXPECT_EQ(StringAt(*scaled, "/kind"), "Scale");
  EXPECT_EQ(IntegerAt(client_->Call(Get(Deployments(), {ns_, "d"})).value(), "/spec/replicas"), 3);
  ASSERT_TRUE(client_
                  ->Call(MergePatch(Deployments(), {ns_, "d"},
                                    {{"status", {{"replicas", 2}}}, {"spec", {{"replicas", 9}}}},
                                    {.subresource = "status"}))
                  .ok());
  const Json after = client_->Call(Get(Deployments(), {ns_, "d"})).value();
  EXPECT_EQ(IntegerAt(after, "/status/replicas"), 2);
  EXPECT_EQ(IntegerAt(after, "/spec/replicas"), 3);
}

TEST_F(ClientCluster, ListsPageByPage) {
  std::vector<Request> creations;
  for (int i = 0; i < 25; ++i) {
    Json map = ConfigMap(ns_, fmt::format("m-{:02}", i), "1");
    SetLabel(map, "parity", i % 2 == 0 ? "even" : "odd");
    creations.push_back(Create(ConfigMaps(), map, {.answer = Answer::kNothing}));
  }
  for (const auto& made : client_->CallAll(std::move(creations)))
    ASSERT_TRUE(made.ok()) << made.status();
  const auto all = client_->ListAll(ConfigMaps(), {.name_space = ns_, .limit = 4});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->items.size(), 25u);
  EXPECT_EQ(StringAt(all->items[3], "/kind"), "ConfigMap");
  EXPECT_FALSE(all->resource_version.empty());
  EXPECT_EQ(client_->ListAll(ConfigMaps(), {.name_space = ns_, .label_selector = "parity in (odd)"})
                ->items.size(),
            12u);
  EXPECT_EQ(
      client_->ListAll(ConfigMaps(), {.name_space = ns_, .field_selector = "metadata.name=m-07"})
          ->items.size(),
      1u);
  ASSERT_TRUE(client_->Call(DeleteCollection(ConfigMaps(), ns_, "parity=odd")).ok());
  EXPECT_EQ(client_->ListAll(ConfigMaps(), {.name_space = ns_})->items.size(), 13u);
}

TEST_F(ClientCluster, AWatchTellsWhatHappensAndEndsInTime) {
  struct Seen {
    std::mutex mutex;
    std::vector<std::string> events;
    std::promise<Status> end;
  } seen;
  const std::string version = client_->ListAll(ConfigMaps(), {.name_space = ns_})->resource_version;
  const CallHandle watch = client_->StartWatch(
      ConfigMaps(), {.name_space = ns_, .resource_version = version, .timeout = Seconds(2)},
      {.event =
           [&](WatchEvent event) {
             if (event.type == WatchEventType::kBookmark) return;
             std::lock_guard lock(seen.mutex);
             seen.events.push_back(fmt::format("{} {} {}", static_cast<int>(event.type),
                                               Name(event.object),
                                               StringAt(event.object, "/data/value")));
           },
       .end = [&](Status status) { seen.end.set_value(status); }});
  ASSERT_TRUE(client_->Call(Create(ConfigMaps(), ConfigMap(ns_, "a", "1"))).ok());
  ASSERT_TRUE(
      client_->Call(MergePatch(ConfigMaps(), {ns_, "a"}, {{"data", {{"value", "2"}}}})).ok());
  ASSERT_TRUE(client_->Call(Delete(ConfigMaps(), {ns_, "a"})).ok());
  EXPECT_TRUE(seen.end.get_future().get().ok());
  EXPECT_THAT(seen.events, ::testing::ElementsAre("0 a 1", "1 a 2", "2 a 2"));
}

TEST_F(ClientCluster, WhatIsForbiddenIsReadable) {
  const auto jane = As("jane", {"team-a"});
  const Status status = jane->Call(Get(Secrets(), {ns_, "s"})).status();
  EXPECT_TRUE(IsForbidden(status)) << status;
  EXPECT_THAT(
      Message(status),
      HasSubstr(R"(User "jane" cannot get resource "secrets" in API group "" in the namespace)"));
  std::promise<Status> end;
  const CallHandle watch = jane->StartWatch(
      Secrets(), {}, {.event = [](WatchEvent) {}, .end = [&](Status s) { end.set_value(s); }});
  EXPECT_TRUE(IsForbidden(end.get_future().get()));
}

TEST_F(ClientCluster, ImpersonationActsAsSomebodyElse) {
  Config config = LoadKubeconfig(server_->kubeconfig()).value();
  config.impersonate = {
      .user = "jane", .groups = {"team-a", "team-b"}, .extra = {{"example.com/x", {"y"}}}};
  const auto client = Client::Create(config).value();
  Json review = {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}};
  const Resource reviews{.group = "authentication.k8s.io",
                         .version = "v1",
                         .kind = "SelfSubjectReview",
                         .plural = "selfsubjectreviews",
                         .scope = Scope::kCluster};
  const Json who = client->Call(Create(reviews, review)).value();
  EXPECT_EQ(StringAt(who, "/status/userInfo/username"), "jane");
  EXPECT_THAT(WriteJson(*Find(who, "/status/userInfo/groups")), HasSubstr("team-b"));
  EXPECT_EQ(StringAt(who, "/status/userInfo/extra/example.com~1x/0"), "y");
}

TEST_F(ClientCluster, InlineCertificatesAndTlsNamesWork) {
  Config config = LoadKubeconfig(server_->kubeconfig()).value();
  config.certificate_authority = {.data = ReadFile(config.certificate_authority.file)};
  config.client_certificate = {.data = ReadFile(config.client_certificate.file)};
  config.client_key = {.data = ReadFile(config.client_key.file)};
  config.tls_server_name = "kubernetes.default.svc";
  EXPECT_TRUE(Client::Create(config).value()->Call(Get(Namespaces(), {"", ns_})).ok());
  config.tls_server_name = "somebody.else";
  const Status status = Client::Create(config).value()->Call(Get(Namespaces(), {"", ns_})).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("somebody.else"));
  config.insecure_skip_tls_verify = true;
  EXPECT_TRUE(Client::Create(config).value()->Call(Get(Namespaces(), {"", ns_})).ok());
}

TEST_F(ClientCluster, AnUnknownAuthorityIsNotTrusted) {
  Config config = LoadKubeconfig(server_->kubeconfig()).value();
  config.certificate_authority = {};  // The system's, which does not know ours.
  const auto client = Client::Create(config).value();
  const Status status = client->Call(Get(Namespaces(), {"", ns_})).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("certificate"));
}

TEST_F(ClientCluster, ARotatedTokenFileIsNoticed) {
  const Json rules = Json::array(
      {{{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", {"get", "list"}}}});
  const std::string token = TokenFor("robot", rules);
  const std::string folder = server_->folder() + "/account";
  std::filesystem::create_directory(folder);
  std::filesystem::copy_file(server_->ca_file(), folder + "/ca.crt");
  std::ofstream(folder + "/namespace") << ns_;
  std::ofstream(folder + "/token") << "not.a.token";
  const std::string url = server_->url();
  const Config config = InClusterConfig({.service_host = "127.0.0.1",
                                         .service_port = url.substr(url.rfind(':') + 1),
                                         .service_account_folder = folder})
                            .value();
  EXPECT_EQ(config.name_space, ns_);
  const auto client = Client::Create(config).value();
  EXPECT_TRUE(IsUnauthorized(client->Call(List(ConfigMaps(), {.name_space = ns_})).status()));
  // The file is not a minute old: it is read again because the old token was refused.
  std::ofstream(folder + "/token") << token;
  const auto listed = client->Call(List(ConfigMaps(), {.name_space = ns_}));
  EXPECT_TRUE(listed.ok()) << listed.status();
  EXPECT_TRUE(IsForbidden(client->Call(List(Secrets(), {.name_space = ns_})).status()));
}

TEST_F(ClientCluster, AnExecPluginGivesTheToken) {
  const std::string token = TokenFor(
      "plugin",
      Json::array({{{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", {"list"}}}}));
  const std::string path = server_->folder() + "/login.sh";
  std::ofstream(path) << "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":"
                         "\"ExecCredential\",\"status\":{\"token\":\""
                      << token << "\"}}'\n";
  Config config;
  config.server = server_->url();
  config.certificate_authority.file = server_->ca_file();
  config.exec.command = "/bin/sh";
  config.exec.arguments = {path};
  const auto client = Client::Create(config).value();
  const auto listed = client->Call(List(ConfigMaps(), {.name_space = ns_}));
  EXPECT_TRUE(listed.ok()) << listed.status();
}

TEST_F(ClientCluster, AnEvictionThatABudgetForbidsIsAnAnswer) {
  Json pod = Object("Pod", ns_, "p");
  SetLabel(pod, "app", "x");
  pod["spec"] = {{"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}, {"nodeName", "n"}};
  ASSERT_TRUE(client_->Call(Create(Pods(), pod)).ok());
  ASSERT_TRUE(client_
                  ->Call(MergePatch(
                      Pods(), {ns_, "p"},
                      {{"status",
                        {{"phase", "Running"},
                         {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}},
                      {.subresource = "status"}))
                  .ok());
  const Json budget = {
      {"metadata", {{"namespace", ns_}, {"name", "b"}}},
      {"spec", {{"maxUnavailable", 0}, {"selector", {{"matchLabels", {{"app", "x"}}}}}}}};
  ASSERT_TRUE(client_->Call(Create(PodDisruptionBudgets(), budget)).ok());
  // What the controller that does not run here would have written.
  ASSERT_TRUE(client_
                  ->Call(MergePatch(PodDisruptionBudgets(), {ns_, "b"},
                                    {{"status",
                                      {{"observedGeneration", 1},
                                       {"disruptionsAllowed", 0},
                                       {"currentHealthy", 1},
                                       {"desiredHealthy", 1},
                                       {"expectedPods", 1}}}},
                                    {.subresource = "status"}))
                  .ok());
  Json eviction = Object("Eviction", ns_, "p");
  eviction["apiVersion"] = "policy/v1";
  const Status status =
      client_->Call(Create(Pods(), eviction, {.subresource = "eviction"})).status();
  EXPECT_TRUE(IsTooManyRequests(status)) << status;
}

TEST_F(ClientCluster, RawRequestsReachWhatIsNoObject) {
  const auto version = client_->CallRaw({.path = "/version", .verb = "get"});
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(version->code, 200);
  EXPECT_FALSE(StringAt(ParseJson(version->body).value(), "/gitVersion").empty());
  EXPECT_EQ(client_->CallRaw({.path = "/nowhere"})->code, 404);
  std::string bytes;
  std::promise<Status> end;
  const CallHandle stream = client_->StartStream(
      {.path = "/metrics", .accept = "text/plain"},
      [&](std::string_view more) { bytes.append(more); },
      [&](Status status) { end.set_value(status); });
  EXPECT_TRUE(end.get_future().get().ok());
  EXPECT_THAT(bytes, HasSubstr("apiserver_request_total"));
}

TEST_F(ClientCluster, ARestartOfTheServerIsRiddenOut) {
  server_->KillApiServer();
  std::promise<StatusOr<Json>> got;
  Request request = Get(Namespaces(), {"", ns_});
  request.deadline = Seconds(60);
  auto patient = Client::Create(LoadKubeconfig(server_->kubeconfig()).value(),
                                {.attempts_max = 100, .backoff_max = Seconds(0.5)})
                     .value();
  patient->Start(request, [&](StatusOr<Json> result) { got.set_value(std::move(result)); });
  const Status restarted = server_->StartApiServer();
  ASSERT_TRUE(restarted.ok()) << restarted;
  const StatusOr<Json> result = got.get_future().get();
  EXPECT_TRUE(result.ok()) << result.status();
}

TEST_F(ClientCluster, TheAuditLogShowsWhoWroteWhat) {
  ASSERT_TRUE(client_->Call(Create(ConfigMaps(), ConfigMap(ns_, "audited", "1"))).ok());
  std::istringstream log(ReadFile(server_->audit_log()));
  int writes = 0;
  for (std::string line; std::getline(log, line);) {
    const StatusOr<Json> entry = ParseJson(line);
    ASSERT_TRUE(entry.ok()) << line;
    if (StringAt(*entry, "/verb") != "create" || StringAt(*entry, "/objectRef/name") != "audited") {
      continue;
    }
    ++writes;
    EXPECT_EQ(StringAt(*entry, "/userAgent"), "client-test");
    EXPECT_EQ(IntegerAt(*entry, "/responseStatus/code"), 201);
  }
  EXPECT_EQ(writes, 1);
}

}  // namespace
}  // namespace paceline::kube
