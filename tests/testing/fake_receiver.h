// fake_receiver.h: a receiver of notifications on loopback, well-behaved or not.
//
// Ownership: its sockets and threads; the destructor ends them all.
// Threads:   one that accepts, and one for each connection.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/testing/await.h"
#include "tests/testing/certificates.h"

namespace dt::testing {

class FakeReceiver {
 public:
  enum class Mood {
    kTakes,
    kFails,      // HTTP 500
    kRefuses,    // HTTP 404
    kRedirects,  // to /elsewhere on this server
    kHangs,      // reads, and never answers
    kEndless,    // HTTP 500, and a body without an end
    kLongHead,   // HTTP headers without an end
  };

  // Speaks TLS with the certificate `tls` if there is one.
  explicit FakeReceiver(Mood mood = Mood::kTakes, const CertificateFiles* tls = nullptr)
      : mood_(mood), stop_(eventfd(0, EFD_CLOEXEC)) {
    if (tls != nullptr) {
      // OpenSSL writes session tickets even to a client that has left, and has no MSG_NOSIGNAL.
      std::signal(SIGPIPE, SIG_IGN);
      tls_.reset(SSL_CTX_new(TLS_server_method()));
      SSL_CTX_use_certificate_file(tls_.get(), tls->cert.c_str(), SSL_FILETYPE_PEM);
      SSL_CTX_use_PrivateKey_file(tls_.get(), tls->key.c_str(), SSL_FILETYPE_PEM);
    }
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 64), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Accept(); });
  }
  ~FakeReceiver() {
    const uint64_t one = 1;
    EXPECT_EQ(write(stop_, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    thread_.join();
    for (std::thread& connection : connections_) connection.join();
    close(listener_);
    close(stop_);
  }
  FakeReceiver(const FakeReceiver&) = delete;
  FakeReceiver& operator=(const FakeReceiver&) = delete;

  std::string Origin() const {
    return (tls_ != nullptr ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
  }
  std::string Url(const std::string& path = "/hook?token=secret") const { return Origin() + path; }
  void Become(Mood mood) { mood_.store(mood); }

  struct Request {
    std::string head;
    std::string body;
    nlohmann::json Json() const { return nlohmann::json::parse(body, nullptr, false); }
  };
  std::vector<Request> Requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  bool AwaitRequests(size_t count) const {
    return Await([&] { return Requests().size() >= count; });
  }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  // A connection, encrypted or not.
  struct Wire {
    int socket;
    std::unique_ptr<SSL, Free> ssl;
    int Read(char* to, int bytes) {
      return ssl ? SSL_read(ssl.get(), to, bytes)
                 : static_cast<int>(recv(socket, to, static_cast<size_t>(bytes), 0));
    }
    bool Write(std::string_view text) {
      const auto sent =
          ssl ? SSL_write(ssl.get(), text.data(), static_cast<int>(text.size()))
              : static_cast<int>(send(socket, text.data(), text.size(), MSG_NOSIGNAL));
      return sent == static_cast<int>(text.size());
    }
  };

  // Waits until `socket` can be read. Returns false if the test ends first.
  bool Readable(int socket) const {
    pollfd fds[] = {{socket, POLLIN, 0}, {stop_, POLLIN, 0}};
    return poll(fds, 2, -1) > 0 && (fds[1].revents & POLLIN) == 0;
  }
  void Accept() {
    while (Readable(listener_)) {
      const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) continue;
      connections_.emplace_back([this, socket] {
        Serve(socket);
        close(socket);
      });
    }
  }
  void Serve(int socket) {
    const timeval patience{kPatience.count(), 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    Wire wire{socket, nullptr};
    if (tls_ != nullptr) {
      wire.ssl.reset(SSL_new(tls_.get()));
      SSL_set_fd(wire.ssl.get(), socket);
      if (SSL_accept(wire.ssl.get()) != 1) return;
    }
    Request request;
    while (Readable(socket) && ReadOne(wire, request)) {
      const Mood mood = mood_.load();
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      if (!Answer(wire, mood)) return;
    }
  }
  static bool ReadOne(Wire& wire, Request& request) {
    std::string all;
    char buffer[4096];
    size_t wanted = std::string::npos;
    while (all.size() < wanted) {
      const int got = wire.Read(buffer, sizeof(buffer));
      if (got <= 0) return false;
      all.append(buffer, static_cast<size_t>(got));
      const size_t end = all.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      const size_t length = all.find("Content-Length: ");
      wanted = end + 4;
      if (length < end) wanted += std::strtoul(all.c_str() + length + 16, nullptr, 10);
      request = {all.substr(0, end), all.substr(end + 4)};
    }
    return true;
  }
  // Answers as `mood` says. Returns whether the connection goes on.
  bool Answer(Wire& wire, Mood mood) {
    const std::string junk(16 << 10, 'x');
    switch (mood) {
      case Mood::kTakes:
        return wire.Write("HTTP/1.1 204 No Content\r\n\r\n");
      case Mood::kFails:
        return wire.Write("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
      case Mood::kRefuses:
        return wire.Write("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
      case Mood::kRedirects:
        return wire.Write("HTTP/1.1 307 There\r\nLocation: " + Url("/elsewhere") +
                          "\r\nContent-Length: 0\r\n\r\n");
      case Mood::kHangs:
        Readable(wire.socket);  // until the other side or the test gives up
        return false;
      case Mood::kEndless:
        wire.Write("HTTP/1.1 500 No\r\n\r\n");
        while (wire.Write(junk)) sent_ += junk.size();
        return false;
      case Mood::kLongHead:
        wire.Write("HTTP/1.1 200 OK\r\n");
        while (wire.Write("X: " + junk + "\r\n")) sent_ += junk.size();
        return false;
    }
    return false;
  }

  std::atomic<Mood> mood_;
  const int stop_;
  std::unique_ptr<SSL_CTX, Free> tls_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<size_t> sent_{0};
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::vector<std::thread> connections_;  // thread_ uses it; the destructor does once thread_ has
                                          // ended
  std::thread thread_;
};

}  // namespace dt::testing
