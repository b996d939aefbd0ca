#include "tests/crd/world.h"

#include "lib/base/testing/eventually.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/yaml.h"
#include "lib/kube/core/api_error.h"
#include "tests/crd/corpus.h"

namespace paceline::crd_test {
namespace {

constexpr double kPatienceSeconds = 60;

}  // namespace

kube::Resource TrainingJobs() {
  return {.group = "paceline.dev",
          .version = "v1alpha1",
          .kind = "TrainingJob",
          .plural = "trainingjobs"};
}

StatusOr<World*> World::Get() {
  static World* world = nullptr;  // Never destroyed: its server ends with the program.
  if (world != nullptr) return world;
  PACELINE_ASSIGN_OR_RETURN(kube::testing::ApiServer * server, kube::testing::ApiServer::Shared());
  auto fresh = std::unique_ptr<World>(new World(server));
  PACELINE_RETURN_IF_ERROR(fresh->Prepare());
  world = fresh.release();
  return world;
}

Status World::Prepare() {
  PACELINE_ASSIGN_OR_RETURN(kube::Config config, kube::LoadKubeconfig(server_->kubeconfig()));
  PACELINE_ASSIGN_OR_RETURN(client_, kube::Client::Create(std::move(config)));
  const Json definition =
      job::ToJson(job::ParseYaml(ReadText("deploy/crd/trainingjobs.yaml")).root);
  PACELINE_RETURN_IF_ERROR(
      client_->Call(kube::Create(kube::CustomResourceDefinitions(), definition)).status());
  // Of the golden manifests.
  PACELINE_RETURN_IF_ERROR(
      client_->Call(kube::Create(kube::Namespaces(), {{"metadata", {{"name", "research"}}}}))
          .status());
  Status status;
  const auto is_there = [&] {  // The API; a second after the definition is.
    status =
        client_->Call(kube::Create(TrainingJobs(), SmallJob("first"), {.dry_run = true})).status();
    return status.code() != StatusCode::kNotFound;
  };
  (void)testing::Eventually(is_there, kPatienceSeconds);
  return status;
}

Answer World::TryCreate(const std::string& manifest, const std::string& content_type,
                        const std::string& name_space) {
  kube::Request request;
  request.method = "POST";
  request.path = TrainingJobs().CollectionPath(name_space);
  request.query = {{"dryRun", "All"}, {"fieldValidation", "Strict"}};
  request.body = manifest;
  request.content_type = content_type;
  request.verb = "create";
  request.resource = "trainingjobs";
  const StatusOr<kube::Response> response = client_->CallRaw(std::move(request));
  if (!response.ok()) return {false, Message(response.status())};
  if (response->code < 300) return {true, response->body};
  return {false, kube::ParseApiError(response->code, response->body).message};
}

Json World::DryRun(const Json& object) {
  const Answer answer = TryCreate(object.dump(), "application/json",
                                  object["metadata"].value("namespace", "default"));
  EXPECT_TRUE(answer.is_accepted) << answer.text << "\n" << object.dump(2);
  return answer.is_accepted ? Json::parse(answer.text) : Json::object();
}

Json SmallJob(const std::string& name) {
  return {{"apiVersion", "paceline.dev/v1alpha1"},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"spec",
           {{"model", {{"torchScript", "cnn.pt"}}},
            {"data", {{"train", "train.safetensors"}}},
            {"training",
             {{"globalBatchSize", 64},
              {"learningRate", {{"base", 0.05}}},
              {"stop", {{"maxEpochs", 15}}}}},
            {"workers", {{"replicas", 4}, {"maxReplicas", 8}}}}}};
}

}  // namespace paceline::crd_test
