// SPDX-License-Identifier: BSD-3-Clause
#include "capture/vm/open_images.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/process.hpp"
#include "capture/selection/file_system.hpp"

namespace iotrail::capture::vm {
namespace {

constexpr std::size_t kFilesMost = 4096; // of a machine that are looked at
constexpr std::size_t kOpenImagesMost = 256;
constexpr std::uint64_t kToTheEnd = INT64_MAX;

bool read_exactly(int fd, std::uint64_t position, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    if (position > kToTheEnd - bytes.size())
      return false;
    const ssize_t count = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (count <= 0)
      return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    position += static_cast<std::uint64_t>(count);
  }
  return true;
}

ReadAt reader_of(int fd) {
  return [fd](std::uint64_t position, std::span<std::byte> bytes) {
    return read_exactly(fd, position, bytes);
  };
}

std::uint64_t size_of(int fd) { // also of a block device
  const off_t size = ::lseek(fd, 0, SEEK_END);
  return size < 0 ? 0 : static_cast<std::uint64_t>(size);
}

// Another file may have taken the number of this one meanwhile: only what was looked at is opened.
Fd reopen_for_reading(const std::string& link) {
  const Fd found(::open(link.c_str(), O_PATH | O_CLOEXEC));
  struct stat status{};
  if (!found || ::fstat(found.get(), &status) != 0 ||
      !(S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)))
    return {};
  const std::string own = fmt::format("/proc/self/fd/{}", found.get());
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;
  Fd opened(::open(own.c_str(), kFlags | O_NOATIME));
  return opened ? std::move(opened) : Fd(::open(own.c_str(), kFlags));
}

// Formats that are neither raw nor QCOW2, by the bytes at a position, as QEMU detects them.
struct Signature {
  std::uint64_t position;
  std::string_view bytes;
};
constexpr Signature kOtherFormats[] = {
    {0, "KDMV"},
    {0, "COWD"},
    {0, "vhdxfile"},
    {0, "conectix"},
    {0, "LUKS\xba\xbe"},
    {0, "WithoutFreeSpac"},
    {0, "WithouFreSpacEx"},
    {0, std::string_view("QED\0", 4)},
    {0, "Bochs Virtual H"},
    {64, "\x7f\x10\xda\xbe"},
};

iot_u32 detect_format(const ReadAt& read) {
  if (read_qcow2_header(read))
    return IOT_vm_format_qcow2;
  std::array<std::byte, 80> begin{};
  if (!read(0, begin))
    return IOT_vm_format_raw; // it is too short for a header
  const std::string_view text(reinterpret_cast<const char*>(begin.data()), begin.size());
  const bool is_other = std::ranges::any_of(kOtherFormats, [&](const Signature& signature) {
    return text.substr(signature.position).starts_with(signature.bytes);
  });
  return is_other || text.starts_with("QFI\xfb") ? IOT_vm_format_other : IOT_vm_format_raw;
}

// The given format counts: the guest controls the first bytes of a raw image, and may write any
// header there.
iot_u32 format_of(const std::string& given, const ReadAt& read) {
  if (given.empty())
    return detect_format(read);
  if (given == "raw")
    return IOT_vm_format_raw;
  return given == "qcow2" && read_qcow2_header(read) ? IOT_vm_format_qcow2 : IOT_vm_format_other;
}

} // namespace

Result<OpenImages> OpenImages::of(pid_t pid, const std::string& proc) {
  const std::string directory = fmt::format("{}/{}", proc, pid);
  OpenImages images(pid, directory, parse_qemu_command(command_of(pid, proc)));
  auto files = images.open_files();
  if (!files)
    return std::unexpected(files.error());
  images.add_images(*files);
  return images;
}

void OpenImages::look() {
  if (const auto files = open_files())
    add_images(*files);
}

Result<std::vector<OpenImages::OpenFile>> OpenImages::open_files() const {
  const std::string path = directory_ + "/fd";
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir(path.c_str()), ::closedir);
  if (!all)
    return fail_errno(fmt::format("the images of virtual machine {}", pid_), errno,
                      errno == EACCES ? "It belongs to another user: run iotrail as root." : "");
  std::vector<OpenFile> files;
  while (const dirent* entry = ::readdir(all.get())) {
    const std::string_view name = entry->d_name;
    OpenFile file;
    struct stat status{};
    if (std::from_chars(name.data(), name.data() + name.size(), file.number).ec != std::errc{} ||
        ::fstatat(::dirfd(all.get()), entry->d_name, &status, AT_NO_AUTOMOUNT) != 0 ||
        !(S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)))
      continue;
    std::error_code gone;
    file.device = status.st_dev;
    file.inode = status.st_ino;
    file.path = std::filesystem::read_symlink(fmt::format("{}/{}", path, name), gone).native();
    files.push_back(std::move(file));
    if (files.size() >= kFilesMost)
      break;
  }
  std::ranges::sort(files, {}, &OpenFile::number);
  return files;
}

// The open file that a path of the machine means: by the file that is there now, else by the path
// itself, which may be gone or hidden from this process.
std::optional<OpenImages::OpenFile> OpenImages::find(const std::vector<OpenFile>& files,
                                                     const std::string& path) const {
  if (path.empty())
    return std::nullopt;
  if (const auto passed = command_.descriptors.find(path); passed != command_.descriptors.end()) {
    const auto file = std::ranges::find(files, passed->second, &OpenFile::number);
    return file == files.end() ? std::nullopt : std::optional(*file);
  }
  const bool is_absolute = path.starts_with('/');
  const std::string here =
      fmt::format("{}/{}", directory_, is_absolute ? "root" + path : "cwd/" + path);
  struct stat status{};
  if (::fstatat(AT_FDCWD, here.c_str(), &status, AT_NO_AUTOMOUNT) == 0)
    for (const OpenFile& file : files)
      if (file.device == status.st_dev && file.inode == status.st_ino)
        return file;
  const std::string tidy = std::filesystem::path(path).lexically_normal().native();
  const auto file = std::ranges::find(files, tidy, &OpenFile::path);
  return file == files.end() ? std::nullopt : std::optional(*file);
}

void OpenImages::add_images(const std::vector<OpenFile>& files) {
  for (const DriveImage& image : command_.images)
    if (const auto file = find(files, image.file))
      add(files, *file,
          {.drive = image.drive,
           .format = image.format,
           .depth = image.depth,
           .offset = image.offset});
  // Added while the machine ran, as by a snapshot. Only QCOW2 has a header by which it is known.
  for (const OpenFile& file : files) {
    if (std::ranges::find(known_, std::pair(file.device, file.inode)) != known_.end())
      continue;
    const Fd opened = reopen_for_reading(fmt::format("{}/fd/{}", directory_, file.number));
    if (opened && read_qcow2_header(reader_of(opened.get())))
      add(files, file, {.drive = {}, .format = "qcow2"});
  }
}

// Adds an image, and the chain of its backing files. A file counts once.
void OpenImages::add(const std::vector<OpenFile>& files, const OpenFile& file,
                     const Wanted& wanted) {
  std::optional<OpenFile> next = file;
  Wanted how = wanted;
  while (next && images_.size() < kOpenImagesMost &&
         std::ranges::find(known_, std::pair(next->device, next->inode)) == known_.end()) {
    known_.emplace_back(next->device, next->inode);
    images_.push_back(open_image(*next, how));
    const Image& image = images_.back();
    if (image.format != IOT_vm_format_qcow2 || image.backing.empty())
      return;
    const auto header = read_qcow2_header(reader_of(image.file.get()));
    const std::string backing = path_of_image(image.backing);
    const std::filesystem::path directory = std::filesystem::path(image.path).parent_path();
    how = {
        .drive = how.drive, .format = header ? header->backing_format : "", .depth = how.depth + 1};
    next = find(files, backing.empty() ? backing : (directory / backing).native());
  }
}

Image OpenImages::open_image(const OpenFile& file, const Wanted& wanted) const {
  const std::string link = fmt::format("{}/fd/{}", directory_, file.number);
  Image image;
  image.file = reopen_for_reading(link);
  image.path = file.path;
  image.drive = wanted.drive;
  image.depth = wanted.depth;
  image.device = kernel::file_system_of(link);
  image.inode = file.inode;
  if (!image.file) {
    image.format = IOT_vm_format_other;
    return image;
  }
  const ReadAt read = reader_of(image.file.get());
  image.format = format_of(wanted.format, read);
  if (image.format == IOT_vm_format_raw) {
    image.offset = wanted.offset;
    image.guest_bytes =
        size_of(image.file.get()) - std::min(wanted.offset, size_of(image.file.get()));
  } else if (const auto header = read_qcow2_header(read);
             image.format == IOT_vm_format_qcow2 && header) {
    image.guest_bytes = header->guest_bytes;
    image.cluster_bytes = header->cluster_bytes();
    image.backing = header->backing;
  }
  return image;
}

ImageMap read_image_map(const Image& image, MapBudget& budget) {
  if (image.format == IOT_vm_format_raw && image.offset < kToTheEnd)
    return {.ranges = {{.position = image.offset,
                        .bytes = kToTheEnd - image.offset,
                        .guest_position = 0,
                        .content = IOT_vm_content_data}}};
  // The header once more: a table that has grown is elsewhere.
  const ReadAt read = reader_of(image.file.get());
  const auto header = image.format == IOT_vm_format_qcow2 ? read_qcow2_header(read) : std::nullopt;
  if (!header)
    return {.ranges = {}, .is_complete = false};
  ImageMap map = read_qcow2_map(read, size_of(image.file.get()), *header, budget);
  map.is_complete = map.is_complete && !header->has_data_file;
  return map;
}

} // namespace iotrail::capture::vm
