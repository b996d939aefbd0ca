#include "lib/kube/testing/api_server.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/check.h"
#include "lib/base/testing/eventually.h"
#include "lib/kube/testing/certificates.h"
#include "lib/kube/testing/child_process.h"

namespace paceline::kube::testing {
namespace {

constexpr int kStartsMax = 3;  // A port that was free may be taken a moment later.
constexpr char kIssuer[] = "https://kubernetes.default.svc.cluster.local";

constexpr char kAuditPolicy[] = R"(apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
)";

int FreePort() {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  PACELINE_CHECK(bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) == 0,
                 "no free port: {}", std::strerror(errno));
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length);
  close(descriptor);
  return ntohs(address.sin_port);
}

size_t Append(char* bytes, size_t size, size_t count, void* text) {
  static_cast<std::string*>(text)->append(bytes, size * count);
  return size * count;
}

struct HttpResult {
  long code = 0;
  std::string body;
};

// A GET, or a POST where `body` is not empty.
HttpResult Http(const std::string& url, const std::string& body,
                const CertificateAuthority* authority) {
  HttpResult result;
  CURL* easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 10'000L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, Append);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &result.body);
  if (!body.empty()) curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.c_str());
  if (authority != nullptr) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, authority->Certificate("ca").c_str());
    curl_easy_setopt(easy, CURLOPT_SSLCERT, authority->Certificate("admin").c_str());
    curl_easy_setopt(easy, CURLOPT_SSLKEY, authority->Key("admin").c_str());
  }
  if (curl_easy_perform(easy) == CURLE_OK) {
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &result.code);
  }
  curl_easy_cleanup(easy);
  return result;
}

// The last lines of a log that say what went wrong.
std::string Tail(const std::string& path) {
  std::ifstream file(path);
  std::string all((std::istreambuf_iterator<char>(file)), {});
  constexpr size_t kBytes = 2000;
  return all.size() > kBytes ? all.substr(all.size() - kBytes) : all;
}

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::trunc) << text;
}

}  // namespace

struct ApiServer::Parts {
  ApiServerOptions options;
  std::string folder, url, kubeconfig, ca_file, audit_log;
  std::string issuer = kIssuer;
  std::string etcd_url;
  int etcd_port = 0, etcd_peer_port = 0, port = 0;
  std::optional<CertificateAuthority> authority;
  std::unique_ptr<ChildProcess> etcd, apiserver, controllers;
  int users = 0;

  ~Parts() {
    controllers.reset();
    apiserver.reset();
    etcd.reset();
    std::error_code ignored;
    if (std::getenv("PACELINE_KEEP_TEST_FOLDERS") == nullptr) {
      std::filesystem::remove_all(folder, ignored);
    }
  }

  Status MakeFiles();
  Status StartEtcd();
  Status StartApiServer();
  // Asks until `url` answers 200.
  Status WaitFor(ChildProcess& process, const std::string& name, const std::string& url_asked);
  std::string WriteKubeconfig(const std::string& name) const;
};

Status ApiServer::Parts::MakeFiles() {
  std::string pattern = (std::filesystem::temp_directory_path() / "kube-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return Unavailable("cannot make a folder: {}", pattern);
  folder = pattern;
  ca_file = folder + "/ca.crt";
  audit_log = folder + "/audit.log";
  kubeconfig = folder + "/admin.kubeconfig";
  PACELINE_ASSIGN_OR_RETURN(authority, CertificateAuthority::Make(folder));
  PACELINE_RETURN_IF_ERROR(authority->Issue(
      "apiserver", "/CN=kube-apiserver",
      "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.96.0.1"));
  PACELINE_RETURN_IF_ERROR(authority->Issue("admin", "/O=system:masters/CN=admin", ""));
  Write(folder + "/audit-policy.yaml", kAuditPolicy);
  Write(audit_log, "");
  return authority->MakeServiceAccountKey();
}

std::string ApiServer::Parts::WriteKubeconfig(const std::string& name) const {
  std::string path = folder + "/" + name + ".kubeconfig";
  Write(path,
        fmt::format(R"(apiVersion: v1
kind: Config
clusters: [{{name: test, cluster: {{server: "{}", certificate-authority: "{}"}}}}]
users: [{{name: "{}", user: {{client-certificate: "{}", client-key: "{}"}}}}]
contexts: [{{name: test, context: {{cluster: test, user: "{}"}}}}]
current-context: test
)",
                    url, ca_file, name, authority->Certificate(name), authority->Key(name), name));
  return path;
}

Status ApiServer::Parts::WaitFor(ChildProcess& process, const std::string& name,
                                 const std::string& url_asked) {
  bool is_ready = false;
  const bool is_decided = paceline::testing::Eventually(
      [&] {
        is_ready = Http(url_asked, "", &*authority).code == 200;
        return is_ready || !process.IsRunning();
      },
      ToSeconds(options.ready_deadline));
  if (is_ready) return OkStatus();
  const std::string tail = Tail(folder + "/" + name + ".log");
  if (is_decided) return Unavailable("{} ended: {}", name, tail);
  return DeadlineExceeded("{} is not ready after {} s: {}", name, ToSeconds(options.ready_deadline),
                          tail);
}

Status ApiServer::Parts::StartEtcd() {
  etcd_url = fmt::format("http://127.0.0.1:{}", etcd_port);
  const std::string peer = fmt::format("http://127.0.0.1:{}", etcd_peer_port);
  PACELINE_ASSIGN_OR_RETURN(
      etcd, ChildProcess::Start(
                {options.binaries + "/etcd", "--name=default", "--data-dir=" + folder + "/etcd",
                 "--listen-client-urls=" + etcd_url, "--advertise-client-urls=" + etcd_url,
                 "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
                 "--initial-cluster=default=" + peer, "--unsafe-no-fsync", "--log-level=warn"},
                folder + "/etcd.log"));
  return WaitFor(*etcd, "etcd", etcd_url + "/health");
}

Status ApiServer::Parts::StartApiServer() {
  std::vector<std::string> command = {
      options.binaries + "/kube-apiserver",
      "--etcd-servers=" + etcd_url,
      "--etcd-compaction-interval=0",
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      fmt::format("--secure-port={}", port),
      "--endpoint-reconciler-type=none",
      "--authorization-mode=Node,RBAC",
      "--client-ca-file=" + ca_file,
      "--tls-cert-file=" + authority->Certificate("apiserver"),
      "--tls-private-key-file=" + authority->Key("apiserver"),
      "--kubelet-client-certificate=" + authority->Certificate("admin"),
      "--kubelet-client-key=" + authority->Key("admin"),
      "--service-account-issuer=" + issuer,
      "--service-account-signing-key-file=" + folder + "/sa.key",
      "--service-account-key-file=" + folder + "/sa.pub",
      "--service-cluster-ip-range=10.96.0.0/16",
      "--allow-privileged=true",
      "--audit-log-path=" + audit_log,
      "--audit-log-mode=blocking",
      "--audit-log-maxsize=100000",  // One file, or readers would lose their place.
      "--audit-policy-file=" + folder + "/audit-policy.yaml",
  };
  if (!options.admission_plugins_off.empty()) {
    command.push_back(fmt::format("--disable-admission-plugins={}",
                                  fmt::join(options.admission_plugins_off, ",")));
  }
  command.insert(command.end(), options.apiserver_flags.begin(), options.apiserver_flags.end());
  PACELINE_ASSIGN_OR_RETURN(apiserver, ChildProcess::Start(command, folder + "/apiserver.log"));
  return WaitFor(*apiserver, "apiserver", url + "/readyz");
}

StatusOr<std::unique_ptr<ApiServer>> ApiServer::Start(ApiServerOptions options) {
  if (options.binaries.empty()) {
    PACELINE_ASSIGN_OR_RETURN(options.binaries, FindBinaries());
  }
  auto parts = std::make_unique<Parts>();
  parts->options = std::move(options);
  PACELINE_RETURN_IF_ERROR(parts->MakeFiles());
  Status status;
  for (int start = 0; start < kStartsMax; ++start) {
    parts->etcd_port = FreePort();
    parts->etcd_peer_port = FreePort();
    parts->port = FreePort();
    parts->url = fmt::format("https://127.0.0.1:{}", parts->port);
    status = parts->StartEtcd();
    if (status.ok()) status = parts->StartApiServer();
    if (status.ok()) {
      parts->WriteKubeconfig("admin");
      return std::unique_ptr<ApiServer>(new ApiServer(std::move(parts)));
    }
    if (status.code() == StatusCode::kDeadlineExceeded) break;
  }
  return status;
}

StatusOr<ApiServer*> ApiServer::Shared() {
  // Never destroyed as an object, but stopped at exit: other static objects may still use it.
  static StatusOr<std::unique_ptr<ApiServer>>* const shared = [] {
    static auto* started = new StatusOr<std::unique_ptr<ApiServer>>(Start());
    std::atexit([] {
      if (started->ok()) started->value().reset();
    });
    return started;
  }();
  if (!shared->ok()) return shared->status();
  return (*shared)->get();
}

ApiServer::ApiServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ApiServer::~ApiServer() = default;

const std::string& ApiServer::folder() const { return parts_->folder; }
const std::string& ApiServer::kubeconfig() const { return parts_->kubeconfig; }
const std::string& ApiServer::url() const { return parts_->url; }
int ApiServer::port() const { return parts_->port; }
const std::string& ApiServer::ca_file() const { return parts_->ca_file; }
const std::string& ApiServer::audit_log() const { return parts_->audit_log; }
const std::string& ApiServer::service_account_issuer() const { return parts_->issuer; }

std::vector<pid_t> ApiServer::processes() const {
  std::vector<pid_t> running;
  for (const auto* const process : {&parts_->apiserver, &parts_->etcd}) {
    if (*process != nullptr) running.push_back((*process)->pid());
  }
  return running;
}

StatusOr<UserFiles> ApiServer::MakeUser(const std::string& name,
                                        const std::vector<std::string>& groups) {
  std::string subject;
  for (const std::string& group : groups) subject += "/O=" + group;
  // Names may hold what files must not.
  const std::string file = fmt::format("user-{}", ++parts_->users);
  PACELINE_RETURN_IF_ERROR(parts_->authority->Issue(file, subject + "/CN=" + name, ""));
  return UserFiles{.certificate = parts_->authority->Certificate(file),
                   .key = parts_->authority->Key(file),
                   .kubeconfig = parts_->WriteKubeconfig(file)};
}

void ApiServer::KillApiServer() { parts_->apiserver->Kill(); }
void ApiServer::StopApiServer() { parts_->apiserver->Stop(Seconds(30)); }
Status ApiServer::StartApiServer() { return parts_->StartApiServer(); }

Status ApiServer::StartControllers(const std::string& controllers) {
  const std::string program = parts_->options.binaries + "/kube-controller-manager";
  if (!std::filesystem::exists(program)) return NotFound("no such program: {}", program);
  PACELINE_ASSIGN_OR_RETURN(
      parts_->controllers,
      ChildProcess::Start(
          {program, "--kubeconfig=" + parts_->kubeconfig, "--controllers=" + controllers,
           "--leader-elect=false", "--secure-port=0",
           "--service-account-private-key-file=" + parts_->folder + "/sa.key",
           "--root-ca-file=" + parts_->ca_file},
          parts_->folder + "/controllers.log"));
  return OkStatus();
}

void ApiServer::StopControllers() { parts_->controllers.reset(); }

Status ApiServer::CompactEtcd() {
  // Any key gives the header with the newest revision.
  const HttpResult range = Http(parts_->etcd_url + "/v3/kv/range", R"({"key": "AA=="})", nullptr);
  const std::string field = "\"revision\":\"";
  const size_t at = range.body.find(field);
  if (range.code != 200 || at == std::string::npos) {
    return Unavailable("etcd told no revision: {} {}", range.code, range.body);
  }
  const size_t start = at + field.size();
  const std::string revision = range.body.substr(start, range.body.find('"', start) - start);
  const HttpResult compacted =
      Http(parts_->etcd_url + "/v3/kv/compaction",
           fmt::format(R"({{"revision": "{}", "physical": true}})", revision), nullptr);
  if (compacted.code != 200) return Unavailable("etcd did not compact: {}", compacted.body);
  return OkStatus();
}

}  // namespace paceline::kube::testing
