// postgres_server.h: a PostgreSQL of the test's own, in a temporary folder, on a Unix socket alone.
//
// Ownership: the server and its folder; the destructor ends it. It does not survive the test's
//            process.
// Bounds:    it takes calls within kPatience.
// Use:       if (PostgresServer::Missing()) GTEST_SKIP() << PostgresServer::kMissing;
#pragma once

#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/store/postgres.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt::testing {

class PostgresServer {
 public:
  static constexpr char kMissing[] =
      "PostgreSQL's server is not here: install Debian's package 'postgresql'";
  // Debian's folder of the newest version; "" where there is none.
  static std::string Programs() {
    std::string newest;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
      const std::string bin = entry.path() / "bin";
      if (std::filesystem::exists(bin + "/initdb", ignored)) newest = std::max(newest, bin);
    }
    return newest;
  }
  static bool Missing() { return Programs().empty() || (geteuid() == 0 && !HasUser()); }

  PostgresServer() {
    if (geteuid() == 0) {  // which the server refuses to run as
      const passwd* user = getpwnam(kUser);
      EXPECT_EQ(chown(folder_.path().c_str(), user->pw_uid, user->pw_gid), 0);
    }
    const std::string data = folder_ / "data";
    // What the disk keeps when the machine fails is PostgreSQL's own affair.
    ChildProcess init(AsUser({Programs() + "/initdb", "--no-sync", "--auth=trust",
                              "--username=dtrain", "--encoding=UTF8", "--locale=C", "-D", data}),
                      folder_ / "initdb.log");
    const auto status = init.AwaitExit();
    EXPECT_TRUE(status && *status == 0) << Slurp(folder_ / "initdb.log");
    Start();
  }
  ~PostgresServer() {
    server_.Signal(SIGQUIT);
    server_.AwaitExit();
  }
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  void Start() {
    server_ = ChildProcess(
        AsUser({Programs() + "/postgres", "-D", folder_ / "data", "-k", folder_.path(), "-c",
                "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=40"}),
        folder_ / "postgres.log");
    EXPECT_TRUE(Await([&] {
      return Postgres::Connect(conninfo(), Postgres::IfLost::kFail).ok() || !server_.Running();
    })) << Slurp(folder_ / "postgres.log");
  }
  // As a crash of all its processes would; Start brings it back.
  void Stop() {
    server_.Signal(SIGQUIT);
    EXPECT_TRUE(server_.AwaitExit());
  }
  // Another connection's statement.
  void Sql(const std::string& sql) const {
    auto connection = Postgres::Connect(conninfo(), Postgres::IfLost::kFail);
    ASSERT_TRUE(connection.ok()) << connection.status();
    EXPECT_TRUE((*connection)->Execute(sql).ok()) << sql;
  }
  int64_t Ask(const std::string& sql) const {
    auto connection = Postgres::Connect(conninfo(), Postgres::IfLost::kFail);
    EXPECT_TRUE(connection.ok()) << connection.status();
    return connection.ok() ? (*connection)->QueryInteger(sql).value_or(-1) : -1;
  }
  // No journal any more.
  void Empty() const { Sql("DROP SCHEMA IF EXISTS dtrain CASCADE"); }
  // Where its socket is.
  const std::string& folder() const { return folder_.path(); }
  std::string conninfo() const { return ConninfoAt(folder()); }
  // Through a socket in another folder that leads to this one's.
  static std::string ConninfoAt(const std::string& folder) {
    return "host=" + folder + " user=dtrain dbname=postgres";
  }

 private:
  static constexpr char kUser[] = "postgres";  // whom Debian's package makes
  static bool HasUser() { return getpwnam(kUser) != nullptr; }
  static std::vector<std::string> AsUser(std::vector<std::string> command) {
    std::vector<std::string> whole = {"/usr/bin/setpriv", "--pdeathsig=QUIT"};
    if (geteuid() == 0) {
      for (const char* word : {"--reuid=postgres", "--regid=postgres", "--clear-groups"}) {
        whole.emplace_back(word);
      }
    }
    whole.emplace_back("--");
    whole.insert(whole.end(), command.begin(), command.end());
    return whole;
  }

  const TempFolder folder_;
  ChildProcess server_;
};

}  // namespace dt::testing
