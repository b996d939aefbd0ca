#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/base64.h"
#include "lib/kube/client/config.h"

namespace paceline::kube {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr char kTwo[] = R"(
apiVersion: v1
kind: Config
current-context: dev
contexts:
- {name: dev, context: {cluster: one, user: jane, namespace: team-a}}
- {name: prod, context: {cluster: two, user: robot}}
clusters:
- {name: one, cluster: {server: "https://one:6443", certificate-authority: pki/ca.crt}}
- {name: two, cluster: {server: "https://two", insecure-skip-tls-verify: true,
                        tls-server-name: api.two, proxy-url: "http://proxy:3128"}}
users:
- {name: jane, user: {client-certificate: jane.crt, client-key: /keys/jane.key}}
- {name: robot, user: {tokenFile: token, token: unused, as: boss, as-uid: u1,
                       as-groups: [g1, g2], as-user-extra: {scopes: [a, b]}}}
)";

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "kubeconfig-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }

  std::string folder_;
};

TEST(Kubeconfig, TheCurrentContextDecides) {
  const Config config = ParseKubeconfig(kTwo, "/etc/kube").value();
  EXPECT_EQ(config.server, "https://one:6443");
  EXPECT_EQ(config.name_space, "team-a");
  EXPECT_EQ(config.certificate_authority.file, "/etc/kube/pki/ca.crt");
  EXPECT_EQ(config.client_certificate.file, "/etc/kube/jane.crt");
  EXPECT_EQ(config.client_key.file, "/keys/jane.key");
}

TEST(Kubeconfig, ANamedContextWins) {
  const Config config = ParseKubeconfig(kTwo, "/etc/kube", "prod").value();
  EXPECT_EQ(config.server, "https://two");
  EXPECT_EQ(config.name_space, "default");
  EXPECT_TRUE(config.insecure_skip_tls_verify);
  EXPECT_EQ(config.tls_server_name, "api.two");
  EXPECT_EQ(config.proxy_url, "http://proxy:3128");
  EXPECT_EQ(config.token.file, "/etc/kube/token");
  EXPECT_EQ(config.token.data, "");
  EXPECT_EQ(config.impersonate.user, "boss");
  EXPECT_EQ(config.impersonate.uid, "u1");
  EXPECT_THAT(config.impersonate.groups, ElementsAre("g1", "g2"));
  EXPECT_THAT(config.impersonate.extra, ElementsAre(Pair("scopes", ElementsAre("a", "b"))));
}

TEST(Kubeconfig, InlineDataIsDecoded) {
  const std::string text =
      fmt::format(R"(
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "https://c", certificate-authority-data: {}}}}}]
users: [{{name: u, user: {{client-certificate-data: {}, client-key-data: {}}}}}]
)",
                  EncodeBase64("CA"), EncodeBase64("CERT"), EncodeBase64("KEY"));
  const Config config = ParseKubeconfig(text, "/").value();
  EXPECT_EQ(config.certificate_authority.data, "CA");
  EXPECT_EQ(config.client_certificate.data, "CERT");
  EXPECT_EQ(config.client_key.data, "KEY");
}

TEST(Kubeconfig, ExecPluginsAreReadWhole) {
  const Config config = ParseKubeconfig(R"(
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://c"}}]
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/login
      args: [--for, c]
      env: [{name: A, value: "1"}]
      interactiveMode: IfAvailable
      provideClusterInfo: true
      installHint: get it
)",
                                        "/etc/kube")
                            .value();
  EXPECT_EQ(config.exec.command, "/etc/kube/bin/login");
  EXPECT_THAT(config.exec.arguments, ElementsAre("--for", "c"));
  EXPECT_THAT(config.exec.environment, ElementsAre(Pair("A", "1")));
  EXPECT_TRUE(config.exec.provide_cluster_info);
  EXPECT_FALSE(config.exec.needs_terminal);
  EXPECT_EQ(config.exec.install_hint, "get it");
}

TEST(Kubeconfig, ErrorsNameTheFieldAndTheChoices) {
  const struct {
    const char* text;
    const char* told;
  } cases[] = {
      {"a: [", "kubeconfig: "},
      {"[1]", "not a kubeconfig"},
      {"{}", "no current-context; contexts: none"},
      {"current-context: x\ncontexts: [{name: a}, {name: b}]", "no context x; contexts: a b"},
      {"current-context: x\ncontexts: [{name: x, context: {cluster: y}}]",
       "contexts[x].cluster: no cluster \"y\""},
      {"current-context: x\ncontexts: [{name: x, context: {cluster: y}}]\n"
       "clusters: [{name: y, cluster: {}}]",
       "clusters[y].server is missing"},
      {"current-context: x\ncontexts: [{name: x, context: {cluster: y, user: z}}]\n"
       "clusters: [{name: y, cluster: {server: s}}]",
       "no user \"z\""},
      {"current-context: x\ncontexts: [{name: x, context: {cluster: y, user: z}}]\n"
       "clusters: [{name: y, cluster: {server: s}}]\n"
       "users: [{name: z, user: {client-key-data: '***'}}]",
       "users[z].client-key-data is not base64"},
      {"current-context: x\ncontexts: [{name: x, context: {cluster: y, user: z}}]\n"
       "clusters: [{name: y, cluster: {server: s}}]\n"
       "users: [{name: z, user: {exec: {command: c, apiVersion: v0}}}]",
       "users[z].exec.apiVersion is \"v0\""},
      {"current-context: x\ncontexts: [{name: x, context: {cluster: y, user: z}}]\n"
       "clusters: [{name: y, cluster: {server: s}}]\n"
       "users: [{name: z, user: {auth-provider: {name: gcp}}}]",
       "auth-provider gcp has no id-token"},
  };
  for (const auto& [text, told] : cases) {
    const StatusOr<Config> config = ParseKubeconfig(text, "/");
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_THAT(Message(config.status()), HasSubstr(told)) << text;
  }
}

TEST_F(Folder, OfSeveralFilesTheFirstToNameSomethingWins) {
  const std::string first = Write("a/config", R"(
contexts: [{name: dev, context: {cluster: one, user: jane}}]
users: [{name: jane, user: {token: first}}]
)");
  const std::string second = Write("b/config", kTwo);
  const Config config = LoadKubeconfig(first + ":" + folder_ + "/none:" + second).value();
  EXPECT_EQ(config.server, "https://one:6443");                             // second's
  EXPECT_EQ(config.certificate_authority.file, folder_ + "/b/pki/ca.crt");  // from its folder
  EXPECT_EQ(config.token.data, "first");
  EXPECT_EQ(config.name_space, "default");  // first's context has none
}

TEST_F(Folder, NoFileAtAllIsNotFound) {
  EXPECT_EQ(LoadKubeconfig(folder_ + "/a:" + folder_ + "/b").status().code(),
            StatusCode::kNotFound);
}

TEST_F(Folder, AFolderIsNamed) {
  const std::string good = Write("a", kTwo);
  for (const std::string& paths : {folder_, good + ":" + folder_, folder_ + ":" + good}) {
    const auto config = LoadKubeconfig(paths);
    EXPECT_EQ(config.status().code(), StatusCode::kInvalidArgument) << paths;
    EXPECT_EQ(Message(config.status()), "kubeconfig must be a file: got the folder " + folder_);
  }
}

TEST_F(Folder, APodUsesItsServiceAccount) {
  Write("token", "t0k3n\n");
  Write("ca.crt", "CA");
  Write("namespace", "team-a");
  const ConfigSource source{
      .service_host = "fd00::1", .service_port = "443", .service_account_folder = folder_};
  const Config config = LoadConfig(source).value();
  EXPECT_EQ(config.server, "https://[fd00::1]:443");
  EXPECT_EQ(config.name_space, "team-a");
  EXPECT_EQ(config.token.file, folder_ + "/token");
  EXPECT_EQ(config.certificate_authority.file, folder_ + "/ca.crt");
}

TEST_F(Folder, ANamedKubeconfigComesBeforeThePodAndTheDefaultAfter) {
  Write("token", "t0k3n");
  ConfigSource source{.kubeconfig = Write("named", kTwo),
                      .default_kubeconfig = Write("default", kTwo),
                      .context = "prod",
                      .service_host = "10.0.0.1",
                      .service_port = "443",
                      .service_account_folder = folder_};
  EXPECT_EQ(LoadConfig(source)->server, "https://two");
  source.kubeconfig.clear();
  EXPECT_EQ(LoadConfig(source)->server, "https://10.0.0.1:443");
  source.service_host.clear();
  EXPECT_EQ(LoadConfig(source)->server, "https://two");
  source.default_kubeconfig = folder_ + "/none";
  const Status status = LoadConfig(source).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("KUBERNETES_SERVICE_HOST"));
}

}  // namespace
}  // namespace paceline::kube
