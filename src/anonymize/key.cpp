// SPDX-License-Identifier: BSD-3-Clause
#include "anonymize/key.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace iotrail::anonymize {
namespace {

constexpr std::string_view kHowToMake =
    "A new key: (umask 077; head -c 32 /dev/urandom > KEYFILE). Equal keys give equal pseudonyms.";

std::unexpected<Error> bad_key(const std::filesystem::path& path, std::string why,
                               std::string hint) {
  return fail(fmt::format("cannot use the key {}", path.native()), std::move(why), std::move(hint));
}

// One byte more than a key may have, if the file has it.
std::string read_bytes(int file) {
  std::string bytes(kKeyBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(file, bytes.data() + size, bytes.size() - size);
    if (got <= 0)
      break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

} // namespace

Result<Key> read_key(const std::filesystem::path& path) {
  // Without waiting: it may be a FIFO.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0)
    return fail_errno(fmt::format("cannot read the key {}", path.native()), errno,
                      std::string(errno == ENOENT ? kHowToMake : ""));
  if (!S_ISREG(status.st_mode))
    return bad_key(path, "it is no regular file", std::string(kHowToMake));
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return bad_key(path,
                   fmt::format("other users may open it (mode {:04o})", status.st_mode & 07777U),
                   "With the key, guessed names can be checked: chmod 600 it, or make a new one.");
  Key key{read_bytes(file.get())};
  if (key.bytes.size() < kKeyBytesMin)
    return bad_key(
        path,
        fmt::format("it has {} bytes, and a key has at least {}", key.bytes.size(), kKeyBytesMin),
        std::string(kHowToMake));
  if (key.bytes.size() > kKeyBytesMax)
    return bad_key(path, fmt::format("a key has at most {} bytes", kKeyBytesMax),
                   std::string(kHowToMake));
  return key;
}

} // namespace iotrail::anonymize
