// dtcoord_fixture.h: runs the real dtcoord on a state folder of the test.
#pragma once

#include <sys/wait.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/net/grpc_settings.h"
#include "coordinator/store/sqlite_store.h"
#include "dtrain/v1/control.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "spec/spec.h"
#include "tests/testing/await.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt {

namespace v1 = ::dtrain::v1;

inline std::unique_ptr<grpc::ClientContext> Deadline() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  return context;
}

class DtcoordTest : public ::testing::Test {
 protected:
  testing::ChildProcess Start(const std::string& name,
                              const std::map<std::string, std::string>& env = {},
                              const std::vector<std::string>& flags = {}) {
    std::vector<std::string> command = {DTCOORD,           "--listen",         "127.0.0.1:0",
                                        "--http",          "127.0.0.1:0",      "--state-dir",
                                        folder_ / "state", "--addresses-file", folder_ / name};
    command.insert(command.end(), flags.begin(), flags.end());
    return testing::ChildProcess(command, folder_ / (name + ".log"), env);
  }
  // Waits for the addresses file and connects.
  std::unique_ptr<v1::Control::Stub> Dial(const std::string& name) {
    std::string address;
    EXPECT_TRUE(testing::Await([&] {
      const auto json = nlohmann::json::parse(testing::Slurp(folder_ / name), nullptr, false);
      if (json.is_discarded()) return false;
      address = json.value("grpc", "");
      return true;
    })) << testing::Slurp(folder_ / (name + ".log"));
    return v1::Control::NewStub(grpc::CreateCustomChannel(
        address, grpc::InsecureChannelCredentials(), ClientChannelArguments()));
  }
  // Waits for `text` in the log of the coordinator `name`, which writes a moment after the event.
  void ExpectLogged(const std::string& name, const std::string& text) {
    const std::string log = folder_ / (name + ".log");
    EXPECT_TRUE(testing::Await([&] { return testing::Slurp(log).find(text) != std::string::npos; }))
        << "no '" << text << "' in\n"
        << testing::Slurp(log);
  }
  void ExpectCleanJournal() {
    const auto store = SqliteStore::Open(folder_ / "state", "test");
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_FALSE((*store)->stopped_uncleanly());
    EXPECT_TRUE((*store)->Close().ok());
  }
  // Returns the exit code, or -1 if it was ended by a signal or did not end.
  static int ExitCode(testing::ChildProcess& child) {
    const std::optional<int> status = child.AwaitExit();
    return status.has_value() && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
  }
  static v1::GetStatusResponse Status(v1::Control::Stub& stub) {
    v1::GetStatusResponse response;
    const grpc::Status status = stub.GetStatus(Deadline().get(), {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  static v1::SubmitRequest RequestOf(const std::string& request_id) {
    v1::SubmitRequest request;
    request.set_request_id(request_id);
    v1::ExperimentSpec& spec = *request.mutable_spec();
    spec.set_version(1);
    spec.set_name("one");
    *spec.mutable_base() = spec::DefaultSpec();
    spec.mutable_base()->mutable_data()->set_train("*_train_*.bin");
    spec.mutable_base()->mutable_data()->set_val("*_val_*.bin");
    spec.mutable_base()->mutable_resources()->set_device("cpu");
    spec.mutable_base()->mutable_train()->set_max_steps(1);
    spec.mutable_search()->set_method("grid");
    spec.mutable_search()->set_metric("val_loss");
    spec.mutable_search()->set_goal("minimize");
    return request;
  }
  // `code`: the digest of the experiment's code; empty: none.
  static uint64_t Submit(v1::Control::Stub& stub, const std::string& request_id,
                         const std::string& code = "") {
    v1::SubmitRequest request = RequestOf(request_id);
    if (!code.empty()) request.mutable_spec()->mutable_code()->set_digest(code);
    v1::SubmitResponse response;
    const grpc::Status status = stub.Submit(Deadline().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.experiment();
  }

  testing::TempFolder folder_;
};

}  // namespace dt
