// Connections between processes that prove to each other who they are, over real sockets.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/rpc/control/shard_session.h"
#include "lib/rpc/control/worker_session.h"
#include "lib/rpc/tls_credentials.h"
#include "lib/tls/testing.h"
#include "ps-server/service/coordinator_service.h"
#include "ps-server/service/data_plane_testing.h"

namespace paceline::ps {
namespace {

using coordination::ConnectionId;
using ::testing::AllOf;
using ::testing::HasSubstr;
using tls::Credential;
using tls::Role;
using tls::testing::IssuedFolder;
using tls::testing::kNow;

constexpr Duration kRefresh = std::chrono::seconds(1);

std::string Name(Role role, uint64_t index = 0) {
  return tls::NameOf({role, index}, "digits", "default");
}

// Lets everybody in who gets as far as that.
class WelcomingSessions final : public Sessions {
 public:
  ConnectionId WorkerConnected(std::shared_ptr<WorkerConnection> connection) override {
    std::lock_guard lock(mutex_);
    connections_.push_back(std::move(connection));
    return ConnectionId(connections_.size() - 1);
  }
  void WorkerSaid(ConnectionId id, protocol::WorkerMessage) override {
    std::lock_guard lock(mutex_);
    connections_[id.value()]->Send(protocol::Interrupted{});
  }
  void WorkerGone(ConnectionId) override {}
  bool ShardConnected(const protocol::Register&,
                      std::shared_ptr<ShardConnection> connection) override {
    connection->Send(protocol::StopShard{});
    return true;
  }
  void ShardSaid(ShardId, protocol::ShardMessage) override {}
  void ShardGone(ShardId, std::string) override {}

 private:
  std::mutex mutex_;
  std::deque<std::shared_ptr<WorkerConnection>> connections_;
};

// One end's view of TLS.
struct End {
  std::shared_ptr<IssuedFolder> folder;
  rpc::TlsCredentials credentials;

  End(const Credential& authority, const std::string& name, const tls::Validity& validity = kNow)
      : folder(std::make_shared<IssuedFolder>(authority, name, validity)),
        credentials(*rpc::LoadTlsCredentials(folder->folder(), kRefresh)) {}

  rpc::ChannelOptions To(Role peer) const {
    return {.credentials = credentials.channel,
            .peer_names = [peer](ShardId rank) { return Name(peer, rank.value()); }};
  }
};

class MtlsTest : public ::testing::Test {
 protected:
  MtlsTest() : ps_(authority_, Name(Role::kPs)) {
    server_ = *GrpcServer::Start({.address = "127.0.0.1:0",
                                  .services = {&coordinator_, &shard_},
                                  .credentials = ps_.credentials.server});
  }

  // Says what came of joining: OK once the coordinator has answered.
  Status Join(const rpc::ChannelOptions& options, protocol::Role role = protocol::Role::kWorker,
              Duration patience = Seconds(1), uint64_t index = 0) {
    PACELINE_ASSIGN_OR_RETURN(const auto session, rpc::CoordinatorSession::Connect(
                                                      server_->address(), patience, options));
    (void)session->Send(
        protocol::Join{.role = role, .worker = WorkerId(index), .layout = testing::LayoutOf(1)});
    return session->Receive(Seconds(30)).status();
  }

  Status Register(const rpc::ChannelOptions& options, uint64_t rank = 1) {
    PACELINE_ASSIGN_OR_RETURN(const auto session,
                              rpc::ShardSession::Connect(server_->address(), Seconds(5), options));
    (void)session->Send(protocol::Register{ShardId(rank), "127.0.0.1:1"});
    return session->Receive(Seconds(30)).status();
  }

  // The shard behind the server has no layout: who gets as far as it hears Unavailable.
  std::unique_ptr<rpc::ParameterClient> Client(const rpc::ChannelOptions& options) {
    return *rpc::GrpcParameterClient::Create(
        {.generation = testing::kGeneration,
         .shards = {{ShardId(0), server_->address(), {0, sizeof bytes_}}},
         .idle_timeout = Seconds(20),
         .channel = options});
  }
  Status Push(const rpc::ChannelOptions& options, uint64_t worker = 0) {
    return Client(options)
        ->Push({WorkerId(worker), Incarnation(1), Sequence(1)}, bytes_, nullptr)
        .status();
  }
  Status Fill(const rpc::ChannelOptions& options, uint64_t worker = 0) {
    return Client(options)->Fill(WorkerId(worker), Incarnation(1), bytes_, nullptr);
  }
  Status Pull(const rpc::ChannelOptions& options) {
    return Client(options)->Pull(Version(0), sync::Exactness::kExact, bytes_).status();
  }

  const Credential authority_ = tls::testing::Authority(
      "job digits", tls::testing::Around(std::chrono::hours(2), std::chrono::hours(48)));
  End ps_;
  WelcomingSessions sessions_;
  ShardHost host_{[](const protocol::ShardMessage&) {}};
  CoordinatorService coordinator_{sessions_, PeerRoles("digits", "default")};
  ShardService shard_{host_, PeerRoles("digits", "default")};
  std::unique_ptr<GrpcServer> server_;
  std::byte bytes_[64] = {};
};

TEST_F(MtlsTest, EachRoleMayDoItsOwn) {
  const End worker(authority_, Name(Role::kWorker));
  const End evaluator(authority_, Name(Role::kEvaluator));
  Status joined = Join(worker.To(Role::kPs));
  EXPECT_TRUE(joined.ok()) << joined;
  joined = Join(evaluator.To(Role::kPs), protocol::Role::kEvaluator);
  EXPECT_TRUE(joined.ok()) << joined;
  const End shard(authority_, Name(Role::kPs, 1));
  const Status registered = Register(shard.To(Role::kPs));
  EXPECT_TRUE(registered.ok()) << registered;
  // The store has its own word on what is asked of it; that it has one is what counts here.
  EXPECT_EQ(Push(worker.To(Role::kPs)).code(), StatusCode::kUnavailable);
  for (const End* const puller : {&worker, &evaluator, static_cast<const End*>(&ps_)})
    EXPECT_EQ(Pull(puller->To(Role::kPs)).code(), StatusCode::kUnavailable);
}

TEST_F(MtlsTest, NoRoleMayDoWhatIsAnothers) {
  const End worker(authority_, Name(Role::kWorker));
  const End evaluator(authority_, Name(Role::kEvaluator));
  const End oper(authority_, Name(Role::kOperator));
  const End other_job(authority_, tls::NameOf({Role::kWorker, 0}, "other", "default"));
  const auto refused = [](const Status& status, const std::string& words) {
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(Message(status), HasSubstr(words));
  };
  refused(Push(evaluator.To(Role::kPs)),
          "certificate names another process: got evaluator.digits.default, want "
          "worker-N.digits.default");
  refused(Push(ps_.To(Role::kPs)), "got ps-0.digits.default, want worker-N.digits.default");
  refused(Pull(oper.To(Role::kPs)), "got operator.digits.default");
  refused(Register(worker.To(Role::kPs)), "got worker-0.digits.default, want ps-N.digits.default");
  refused(Join(ps_.To(Role::kPs)), "got ps-0.digits.default");
  refused(Join(other_job.To(Role::kPs)), "got worker-0.other.default");
  refused(Join(evaluator.To(Role::kPs), protocol::Role::kWorker),
          "got evaluator.digits.default, want worker-0.digits.default");
  refused(Join(worker.To(Role::kPs), protocol::Role::kEvaluator),
          "got worker-0.digits.default, want evaluator.digits.default");
}

TEST_F(MtlsTest, EachProcessSpeaksForItselfAlone) {
  const End worker(authority_, Name(Role::kWorker, 3));
  const End shard(authority_, Name(Role::kPs, 2));
  const auto refused = [](const Status& status, const std::string& words) {
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(Message(status), HasSubstr(words));
  };
  const std::string want = "got worker-3.digits.default, want worker-4.digits.default";
  refused(Join(worker.To(Role::kPs), protocol::Role::kWorker, Seconds(1), 4), want);
  refused(Push(worker.To(Role::kPs), 4), want);
  refused(Fill(worker.To(Role::kPs), 4), want);
  refused(Register(shard.To(Role::kPs), 1), "got ps-2.digits.default, want ps-1.digits.default");
  refused(Pull(shard.To(Role::kPs)), "got ps-2.digits.default, want ps-0.digits.default");
  // In their own names they get as far as the store's and the coordinator's word.
  const Status joined = Join(worker.To(Role::kPs), protocol::Role::kWorker, Seconds(1), 3);
  EXPECT_TRUE(joined.ok()) << joined;
  EXPECT_EQ(Push(worker.To(Role::kPs), 3).code(), StatusCode::kUnavailable);
  EXPECT_EQ(Fill(worker.To(Role::kPs), 3).code(), StatusCode::kUnavailable);
  const Status registered = Register(shard.To(Role::kPs), 2);
  EXPECT_TRUE(registered.ok()) << registered;
}

// Which of them has a number is the coordinator's to say.
TEST_F(MtlsTest, AWorkerOfAGroupSpeaksForTheNumberThatItWasGiven) {
  const auto of_group = [](const std::string& group) {
    return tls::NameOf({Role::kWorker, 3, group}, "digits", "default");
  };
  const End big(authority_, of_group("big"));
  const auto join = [&](const std::string& group) {
    const auto session =
        rpc::CoordinatorSession::Connect(server_->address(), Seconds(5), big.To(Role::kPs));
    (void)(*session)->Send(
        protocol::Join{.worker = WorkerId(3), .layout = testing::LayoutOf(1), .group = group});
    return (*session)->Receive(Seconds(30)).status();
  };
  EXPECT_TRUE(join("big").ok());
  for (const char* const other : {"small", ""})
    EXPECT_EQ(join(other).code(), StatusCode::kPermissionDenied) << other;

  EXPECT_EQ(Push(big.To(Role::kPs), 5).code(), StatusCode::kUnavailable);
  const store::Layout layout = store::Layout::Create({{"w", {sizeof bytes_ / 4}}}).value();
  host_.Order(protocol::Configure{.generation = testing::kGeneration,
                                  .layout = layout,
                                  .slice = store::SliceOverShards(layout, 1)[0],
                                  .optimizer = optim::SgdOptions{}});
  host_.Order(protocol::Admit{WorkerId(5), Incarnation(1), {"big", 3}});
  host_.Order(protocol::Admit{WorkerId(6), Incarnation(1), {"small", 3}});
  while (!host_.CheckLife(WorkerId(6), Incarnation(1)).ok()) std::this_thread::yield();
  for (const Status& status : {Push(big.To(Role::kPs), 6), Fill(big.To(Role::kPs), 6)}) {
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(Message(status),
                HasSubstr("got big-3.digits.default, want small-3.digits.default"));
  }
  EXPECT_EQ(Push(big.To(Role::kPs), 7).code(), StatusCode::kUnavailable) << "admitted by nobody";
  const Status filled = Fill(big.To(Role::kPs), 5);
  EXPECT_TRUE(filled.ok()) << filled;
}

TEST_F(MtlsTest, ShardOfAnotherRankIsRefused) {
  const End worker(authority_, Name(Role::kWorker));
  rpc::ChannelOptions options = worker.To(Role::kPs);
  options.peer_names = [](ShardId) { return Name(Role::kPs, 1); };  // Rank 0 is there.
  const Status status = Join(options);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("ostname"));
}

TEST_F(MtlsTest, PlainTextIsRefused) {
  const Status status = Join({});

  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("cannot reach " + server_->address() + " within 1.0 s: "),
                    HasSubstr("one end alone uses TLS")));
}

TEST_F(MtlsTest, PlainServerIsRefused) {
  CoordinatorService plain_service(sessions_);
  const auto plain = *GrpcServer::Start({.address = "127.0.0.1:0", .services = {&plain_service}});
  const End worker(authority_, Name(Role::kWorker));
  const auto session =
      rpc::CoordinatorSession::Connect(plain->address(), Seconds(2), worker.To(Role::kPs));
  EXPECT_EQ(session.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(session.status()), HasSubstr("handshake failed"));
}

TEST_F(MtlsTest, AnotherAuthorityIsRefusedByBothEnds) {
  const Credential stranger = tls::testing::Authority("stranger", kNow);
  // Trusts nobody whom the server could be.
  const End foreign(stranger, Name(Role::kWorker));
  const Status by_client = Join(foreign.To(Role::kPs));
  EXPECT_EQ(by_client.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(by_client), HasSubstr("certificate verify failed"));
  // Trusts the server, but shows a certificate of another authority.
  End forged(stranger, Name(Role::kWorker));
  forged.folder->Write(tls::testing::Issued(stranger, {Name(Role::kWorker)}, kNow),
                       authority_.certificate);
  forged.credentials = *rpc::LoadTlsCredentials(forged.folder->folder(), kRefresh);
  const Status by_server = Join(forged.To(Role::kPs));
  EXPECT_EQ(by_server.code(), StatusCode::kUnavailable) << by_server;

  EXPECT_THAT(Message(by_server), HasSubstr("refuses our certificate"));
}

TEST_F(MtlsTest, ServerInAnotherRoleIsRefused) {
  const End worker(authority_, Name(Role::kWorker));
  const Status status = Join(worker.To(Role::kEvaluator));
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("ostname"));
}

TEST_F(MtlsTest, ExpiredIsRefusedUntilItIsRenewedOnDisk) {
  const auto past = tls::testing::Around(std::chrono::minutes(30), -std::chrono::minutes(10));
  const End worker(authority_, Name(Role::kWorker), past);
  EXPECT_EQ(Join(worker.To(Role::kPs)).code(), StatusCode::kUnavailable);
  worker.folder->Write(tls::testing::Issued(authority_, {Name(Role::kWorker)}, kNow),
                       authority_.certificate);
  const Status renewed = Join(worker.To(Role::kPs), protocol::Role::kWorker, Seconds(30));
  EXPECT_TRUE(renewed.ok()) << renewed;
}

TEST_F(MtlsTest, ServerTakesRenewedFilesUp) {
  const End worker(authority_, Name(Role::kWorker));
  const auto past = tls::testing::Around(std::chrono::minutes(30), -std::chrono::minutes(10));
  ps_.folder->Write(tls::testing::Issued(authority_, {Name(Role::kPs)}, past),
                    authority_.certificate);
  // Connections begin to fail once the server has read the expired one...
  Status status = OkStatus();
  while (status.ok()) {  // The test's time limit ends it.
    status = Join(worker.To(Role::kPs), protocol::Role::kWorker, Seconds(1));
  }
  EXPECT_THAT(Message(status), HasSubstr("certificate verify failed"));
  // ...and succeed again after the renewal, in the same process.
  ps_.folder->Write(tls::testing::Issued(authority_, {Name(Role::kPs)}, kNow),
                    authority_.certificate);
  status = Join(worker.To(Role::kPs), protocol::Role::kWorker, Seconds(30));
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(MtlsTest, OpenConnectionOutlivesItsCertificate) {
  const End worker(authority_, Name(Role::kWorker),
                   tls::testing::Around(std::chrono::minutes(1), std::chrono::seconds(3)));
  const auto session =
      *rpc::CoordinatorSession::Connect(server_->address(), Seconds(2), worker.To(Role::kPs));
  // Until new connections fail, the certificate is not known to have expired.
  while (Join(worker.To(Role::kPs), protocol::Role::kWorker, Seconds(1)).ok()) {
  }
  ASSERT_TRUE(session->Send(protocol::Join{.layout = testing::LayoutOf(1)}).ok());
  const auto answer = session->Receive(Seconds(30));
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST_F(MtlsTest, FolderThatHoldsNothingIsSaidAtOnce) {
  const IssuedFolder empty;
  const auto credentials = rpc::LoadTlsCredentials(empty.folder());
  EXPECT_EQ(credentials.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(credentials.status()), HasSubstr("/tls.crt: No such file"));
}

}  // namespace
}  // namespace paceline::ps
