// SPDX-License-Identifier: BSD-3-Clause
//
// A directory that the kernel's NFS server serves and this machine mounts: for emulated machines.
// The test itself acts as the server's helper programs (mountd).
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <list>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "block_device.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {

class NfsMount {
public:
  NfsMount(const std::filesystem::path& served, const std::filesystem::path& mounted)
      : served_(served), mounted_(mounted) {
    refusal_ = serve();
    if (refusal_.empty())
      refusal_ = mount();
  }
  ~NfsMount() {
    if (!refusal_.empty())
      return;
    ::umount2(mounted_.c_str(), MNT_DETACH);
    write_to("/proc/fs/nfsd/threads", "0\n");
  }
  NfsMount(const NfsMount&) = delete;
  NfsMount& operator=(const NfsMount&) = delete;

  const std::string& refusal() const { return refusal_; } // empty: mounted
  std::string operator/(const std::string& name) const { return mounted_ / name; }

private:
  using Words = std::vector<std::string>;

  static bool write_to(const std::string& path, const std::string& text) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }

  static std::string time_to_come() { return std::to_string(::time(nullptr) + 36'000); }

  // Answers the kernel's questions in this file until the test ends.
  void answer(const std::string& cache, std::function<std::string(const Words&)> make) {
    const std::string path = "/proc/net/rpc/" + cache + "/channel";
    helpers_.emplace_back([path, make = std::move(make)](const std::stop_token& stop) {
      const Fd channel(::open(path.c_str(), O_RDWR | O_CLOEXEC));
      std::array<char, 8192> asked{};
      while (channel.get() >= 0 && !stop.stop_requested()) {
        pollfd waiting{channel.get(), POLLIN, 0};
        ::poll(&waiting, 1, 50);
        const ssize_t bytes = ::read(channel.get(), asked.data(), asked.size());
        if (bytes <= 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          continue;
        }
        std::istringstream line(std::string(asked.data(), static_cast<std::size_t>(bytes)));
        Words words;
        for (std::string word; line >> word;)
          words.push_back(word);
        const std::string said = make(words) + "\n";
        (void)!::write(channel.get(), said.data(), said.size());
      }
    });
  }

  // All clients have the name `all` and may use the one served directory.
  void answer_all() {
    answer("auth.unix.ip",
           [](const Words& w) { return w[0] + " " + w[1] + " " + time_to_come() + " all"; });
    answer("auth.unix.gid", [](const Words& w) { return w[0] + " " + time_to_come() + " 0"; });
    answer("nfsd.fh", [this](const Words& w) {
      const std::string key = w[0] + " " + w[1] + " " + w[2] + " " + time_to_come();
      return w[1] == "1" ? key + " " + served_.native() : key;
    });
    answer("nfsd.export", [this](const Words& w) {
      constexpr int kInsecurePort = 0x2, kAsync = 0x10, kNoSubtreeCheck = 0x400, kFsid = 0x2000;
      const std::string flags = std::to_string(kInsecurePort | kAsync | kNoSubtreeCheck | kFsid);
      const std::string key = w[0] + " " + w[1] + " " + time_to_come();
      return w[1] == served_ ? key + " " + flags + " 65534 65534 0" : key;
    });
  }

  // Empty on success, else the reason.
  std::string serve() {
    if (!is_emulated())
      return "no server is started here, but in an emulated machine";
    if (!has_module("nfsd") || !has_module("nfsv4"))
      return "the kernel has no NFS";
    std::filesystem::create_directories(served_);
    std::filesystem::create_directories(mounted_);
    std::filesystem::create_directories("/var/lib/nfs/v4recovery");
    if (!std::filesystem::exists("/proc/fs/nfsd/threads") &&
        ::mount("nfsd", "/proc/fs/nfsd", "nfsd", 0, nullptr) != 0)
      return "the server cannot be set up: " + errno_text(errno);
    (void)!std::system("ip link set lo up");
    answer_all();
    write_to("/proc/fs/nfsd/versions", "-3\n");
    if (!write_to("/proc/fs/nfsd/portlist", "tcp 2049\n") ||
        !write_to("/proc/fs/nfsd/threads", "2\n"))
      return "the server does not start: " + errno_text(errno);
    write_to("/proc/fs/nfsd/v4_end_grace", "Y\n"); // no client had open files
    return "";
  }

  std::string mount() const {
    return ::mount("127.0.0.1:/", mounted_.c_str(), "nfs4", 0,
                   "addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.1,sec=sys") == 0
               ? ""
               : "it cannot be mounted: " + errno_text(errno);
  }

  std::filesystem::path served_;
  std::filesystem::path mounted_;
  std::string refusal_;
  std::list<std::jthread> helpers_;
};

} // namespace iotrail::live
