// SPDX-License-Identifier: BSD-3-Clause
#include "capture/vm/qemu_command.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capture/vm/machines.hpp"

namespace iotrail::capture::vm {
namespace {

using Words = std::vector<std::string>;

// "virtio-disk0 0 qcow2 /a.qcow2", one a line.
std::string images_of(const Words& words) {
  std::string text;
  for (const DriveImage& image : parse_qemu_command(words).images)
    text += fmt::format("{} {} {} {}\n", image.drive, image.depth,
                        image.format.empty() ? "?" : image.format, image.file);
  return text;
}

TEST(qemu_command, names_of_machines) {
  const auto name_of = [](const std::string& value) {
    return parse_qemu_command({"qemu-system-x86_64", "-name", value}).name;
  };
  EXPECT_EQ(name_of("guest=web1,debug-threads=on"), "web1");
  EXPECT_EQ(name_of("web1"), "web1");
  EXPECT_EQ(name_of("web1,process=qemu:web1"), "web1");
  EXPECT_EQ(name_of("debug-threads=on,guest=a b"), "a b");
  EXPECT_EQ(name_of("guest=one,,two"), "one,two");
  EXPECT_EQ(name_of("debug-threads=on"), "");
  EXPECT_EQ(parse_qemu_command({"qemu-system-x86_64", "-name"}).name, "");
  EXPECT_EQ(parse_qemu_command({}).name, "");
}

// As libvirt 9 starts a domain with two disks and a firmware.
TEST(qemu_command, images_of_libvirt) {
  EXPECT_EQ(
      images_of(
          {"/usr/bin/qemu-system-x86_64",
           "-name",
           "guest=web1,debug-threads=on",
           "-S",
           "-object",
           R"({"qom-type":"secret","id":"masterKey0"})",
           "-blockdev",
           R"({"driver":"file","filename":"/usr/share/OVMF/OVMF_CODE.fd","node-name":"libvirt-pflash0-storage","auto-read-only":true,"discard":"unmap"})",
           "-blockdev",
           R"({"node-name":"libvirt-pflash0-format","read-only":true,"driver":"raw","file":"libvirt-pflash0-storage"})",
           "-machine",
           "pc-q35-7.2,usb=off,pflash0=libvirt-pflash0-format",
           "-blockdev",
           R"({"driver":"file","filename":"/var/lib/libvirt/images/base.img","node-name":"libvirt-3-storage","auto-read-only":true})",
           "-blockdev",
           R"({"node-name":"libvirt-3-format","read-only":true,"driver":"raw","file":"libvirt-3-storage"})",
           "-blockdev",
           R"({"driver":"file","filename":"/var/lib/libvirt/images/web1.qcow2","node-name":"libvirt-2-storage","cache":{"direct":true,"no-flush":false}})",
           "-blockdev",
           R"({"node-name":"libvirt-2-format","read-only":false,"cache":{"direct":true},"driver":"qcow2","file":"libvirt-2-storage","backing":"libvirt-3-format"})",
           "-device",
           R"({"driver":"virtio-blk-pci","bus":"pci.4","drive":"libvirt-2-format","id":"virtio-disk0","bootindex":1})",
           "-blockdev",
           R"({"driver":"host_device","filename":"/dev/vg/data","node-name":"libvirt-1-storage"})",
           "-device",
           "virtio-blk-pci,bus=pci.5,drive=libvirt-1-storage,id=virtio-disk1"}),
      "virtio-disk0 0 qcow2 /var/lib/libvirt/images/web1.qcow2\n"
      "virtio-disk0 1 raw /var/lib/libvirt/images/base.img\n"
      "virtio-disk1 0 raw /dev/vg/data\n"
      "libvirt-pflash0-format 0 raw /usr/share/OVMF/OVMF_CODE.fd\n");
}

TEST(qemu_command, nodes_inside_nodes_and_filters) {
  EXPECT_EQ(
      images_of(
          {"qemu-system-x86_64", "--blockdev",
           R"({"node-name":"a","driver":"throttle","throttle-group":"g","file":{"driver":"qcow2","file":{"driver":"file","filename":"/x"},"backing":{"driver":"qcow2","file":{"driver":"file","filename":"/y"}}}})",
           "-device", "scsi-hd,drive=a"}),
      "a 0 qcow2 /x\na 1 qcow2 /y\n");
  EXPECT_EQ(images_of({"qemu-system-x86_64", "-blockdev",
                       "driver=qcow2,node-name=n,file.driver=file,file.filename=/a,,b"}),
            "n 0 qcow2 /a,b\n");
}

TEST(qemu_command, drives_of_the_short_forms) {
  EXPECT_EQ(images_of({"qemu-system-x86_64", "-drive",
                       "file=/a.qcow2,format=qcow2,if=none,id=drive-virtio-disk0,cache=none",
                       "-device", "virtio-blk-pci,drive=drive-virtio-disk0,id=virtio-disk0"}),
            "virtio-disk0 0 qcow2 /a.qcow2\n");
  EXPECT_EQ(images_of({"qemu-system-x86_64", "-drive", "file=/a,if=virtio", "-drive",
                       "if=virtio,format=raw,file=b", "-hda", "c.img", "-cdrom", "/d.iso"}),
            "virtio0 0 ? /a\nvirtio1 0 raw b\nhda 0 ? c.img\ncdrom 0 ? /d.iso\n");
  EXPECT_EQ(images_of({"qemu-system-x86_64", "disk.img"}), "hda 0 ? disk.img\n");
  EXPECT_EQ(images_of({"qemu-system-x86_64", "-m", "512", "disk.img", "-nographic"}),
            "hda 0 ? disk.img\n");
  EXPECT_EQ(images_of({"qemu-system-x86_64", "-drive",
                       "file=json:{\"driver\":\"file\",\"filename\":\"/a\"}"}),
            "");
  EXPECT_EQ(images_of({"qemu-system-x86_64", "-drive",
                       R"(file=json:{"driver":"file",,"filename":"/a"},id=x)"}),
            "x 0 ? /a\n");
}

TEST(qemu_command, files_that_libvirt_passes) {
  const QemuCommand command =
      parse_qemu_command({"qemu-system-x86_64", "-add-fd", "set=0,fd=35,opaque=disk", "-blockdev",
                          R"({"driver":"file","filename":"/dev/fdset/0","node-name":"s"})",
                          "-blockdev", R"({"driver":"qcow2","file":"s","node-name":"f"})"});
  ASSERT_EQ(command.images.size(), 1U);
  EXPECT_EQ(command.images[0].file, "/dev/fdset/0");
  EXPECT_EQ(command.descriptors.at("/dev/fdset/0"), 35);
}

TEST(qemu_command, the_offset_of_a_raw_image) {
  const auto image_of = [](const std::string& value) {
    return parse_qemu_command({"q", "-drive", value}).images.at(0);
  };
  EXPECT_EQ(image_of("file=/a,format=raw,offset=1048576").offset, 1048576U);
  EXPECT_EQ(image_of("file=/a,format=raw,offset=1048576").format, "raw");
  EXPECT_NE(image_of("file=/a,format=raw,offset=1M").format, "raw") << "it is not computed here";
}

TEST(qemu_command, forged_command_lines) {
  EXPECT_EQ(images_of({"q", "-blockdev", R"({"node-name":"a","driver":"throttle","file":"a"})",
                       "-device", "x,drive=a"}),
            "");
  EXPECT_EQ(images_of({"q", "-blockdev", R"({"node-name":"a","driver":"qcow2","file":"a"})"}), "");
  std::string deep;
  for (int i = 0; i < 10000; ++i)
    deep += "{\"file\":";
  for (const std::string& value :
       {deep, std::string(100000, '.') + "=1", std::string("a.a=1,a=2,a.b=3"), std::string(",,,"),
        std::string("{"), std::string("[]"), std::string("\xff=\xfe"), std::string("file.file=1"),
        std::string(R"({"node-name":7,"file":[1],"driver":{}})"), std::string("file=")}) {
    (void)images_of({"q", "-blockdev", value});
    (void)images_of({"q", "-drive", value});
    (void)images_of({"q", "-device", value});
    (void)images_of({"q", "-name", value});
    (void)images_of({"q", "-add-fd", value});
    (void)path_of_image("json:" + value);
  }
  Words many = {"q"};
  for (int i = 0; i < 5000; ++i) {
    many.emplace_back("-drive");
    many.emplace_back("file=/a");
  }
  EXPECT_EQ(parse_qemu_command(many).images.size(), 256U);
}

TEST(qemu_command, names_of_images) {
  EXPECT_EQ(path_of_image("/a b"), "/a b");
  EXPECT_EQ(path_of_image("file:base.img"), "base.img");
  EXPECT_EQ(path_of_image(R"(json:{"driver":"qcow2","file":{"driver":"file","filename":"/x"}})"),
            "/x");
  EXPECT_EQ(path_of_image(R"(json:{"file.filename":"/x"})"), "/x");
  EXPECT_EQ(path_of_image("nbd://host/x"), "nbd://host/x");
  EXPECT_EQ(path_of_image("json:{"), "");
}

TEST(qemu_command, programs) {
  for (const char* program : {"qemu-system-x86_64", "qemu-system-aarch64", "qemu-kvm", "kvm"})
    EXPECT_TRUE(is_qemu(program)) << program;
  for (const char* program : {"qemu-img", "qemu-nbd", "qemu-x86_64-static", "sh", ""})
    EXPECT_FALSE(is_qemu(program)) << program;
}

TEST(machines, by_name_and_by_pid) {
  const std::vector<Machine> machines = {
      {10, "web1"}, {11, "db"}, {12, "db"}, {13, ""}, {14, "10"}};
  EXPECT_EQ(find_machine("web1", machines)->pid, 10);
  EXPECT_EQ(find_machine("13", machines)->pid, 13);
  EXPECT_EQ(find_machine("10", machines)->pid, 10) << "a PID comes first";
  EXPECT_EQ(find_machine("web", machines).error().line(),
            "virtual machine web: none has this name or PID; there are web1 (PID 10), db (PID 11), "
            "db (PID 12), PID 13, 10 (PID 14)");
  EXPECT_EQ(find_machine("db", machines).error().line(),
            "virtual machine db: several have this name: db (PID 11), db (PID 12)");
  EXPECT_FALSE(find_machine("", machines));
  EXPECT_EQ(find_machine("web1", {}).error().line(),
            "virtual machine web1: no process of QEMU (qemu-system-...) runs here");
}

TEST(machines, this_test_is_none) {
  EXPECT_FALSE(is_machine(::getpid()));
  EXPECT_FALSE(is_machine(0x7fffffff));
}

} // namespace
} // namespace iotrail::capture::vm
