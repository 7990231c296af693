// postgres_server.h: the test's own PostgreSQL, in a temporary folder, on a Unix socket only.
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
  // Returns Debian's folder of the newest version, or "" if there is none.
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
    if (geteuid() == 0) {  // the server refuses to run as root
      const passwd* user = getpwnam(kUser);
      EXPECT_EQ(chown(folder_.path().c_str(), user->pw_uid, user->pw_gid), 0);
    }
    const std::string data = folder_ / "data";
    // No sync: what survives a failure of the machine is PostgreSQL's concern, not the test's.
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
  // Ends the server as a crash of all its processes does; Start brings it back.
  void Stop() {
    server_.Signal(SIGQUIT);
    EXPECT_TRUE(server_.AwaitExit());
  }
  // Runs a statement on another connection.
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
  // Removes the journal.
  void Empty() const { Sql("DROP SCHEMA IF EXISTS dtrain CASCADE"); }
  // Returns the folder of its socket.
  const std::string& folder() const { return folder_.path(); }
  std::string conninfo() const { return ConninfoAt(folder()); }
  // Returns a conninfo that goes through a socket in another folder, which leads to this server's.
  static std::string ConninfoAt(const std::string& folder) {
    return "host=" + folder + " user=dtrain dbname=postgres";
  }

 private:
  static constexpr char kUser[] = "postgres";  // Debian's package makes this user
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
