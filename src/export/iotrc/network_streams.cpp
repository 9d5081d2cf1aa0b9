// SPDX-License-Identifier: BSD-3-Clause
//
// The streams of the network: nw_conn, nw_sockopt, nw_drop; in the older layout also nw and nw_epoll.
#include <fmt/format.h>

#include "export/iotrc/stream.hpp"

namespace iotrail::output::iotrc {
namespace {

// Of an address "192.0.2.1:80", "[2001:db8::1]:80" or "unix:/run/db".
std::string host_of(std::string_view address) {
  return fmt::format("CASE WHEN {0} LIKE '[%' THEN regexp_extract({0}, '^\\[(.*)\\]:\\d+$', 1) "
                     "WHEN regexp_full_match({0}, '[0-9.]+:\\d+') THEN "
                     "regexp_extract({0}, '^(.*):', 1) END",
                     address);
}
std::string port_of(std::string_view address) {
  return fmt::format("CASE WHEN regexp_full_match({0}, '(\\[.*\\]|[0-9.]+):\\d+') THEN "
                     "nullif(regexp_extract({0}, ':(\\d+)$', 1), '0') END",
                     address);
}
std::string version_of(std::string_view address) {
  return fmt::format(
      "CASE WHEN {0} LIKE '[%' THEN 6 WHEN regexp_full_match({0}, '[0-9.]+:\\d+') THEN 4 END",
      address);
}

const Column kNetPid = {"pid", "u32", "", "Process.", "pid"};
const Column kNetTid = {"tid", "u32", "", "Thread.", "tid"};
const Column kNetCommand = {"command", "string", "", "Name of the process.", "command"};
const Column kNetFd = {"fd", "u32", "", "Descriptor of the socket.",
                       "CASE WHEN fd >= 0 THEN fd END"};
const Column kNetReturn = {"return_value", "s32", "", "Result, or a negative errno.",
                           "CASE WHEN NOT is_unfinished(result) THEN result END"};

// The life of each socket. What a call does not say comes from the call that made the socket.
std::string connection_rows() {
  return fmt::format(
      "WITH made AS (SELECT file, any_value(family) AS family, any_value(type) AS type FROM "
      "syscall_socket WHERE file <> 0 GROUP BY file), asked AS ("
      "SELECT ts_ns, op_id, pid, tid, file, 'SOCKET_CREATE' AS event_type, result AS fd, 0 AS "
      "address, NULL AS argument, duration_ns, result FROM syscall_socket "
      "UNION ALL SELECT ts_ns, op_id, pid, tid, file, CASE WHEN starts_with(call, 'accept') THEN "
      "'ACCEPT' ELSE upper(call) END, CAST(fd AS BIGINT), address, "
      "CASE WHEN call IN ('listen', 'shutdown') THEN argument END, duration_ns, result FROM "
      "syscall_connection "
      "UNION ALL SELECT c.ts_ns, c.op_id, c.pid, c.tid, c.file, 'CLOSE', CAST(c.fd AS BIGINT), 0, "
      "NULL, c.duration_ns, c.result FROM syscall_close AS c WHERE c.file IN "
      "(SELECT file FROM syscall_socket WHERE file <> 0 UNION ALL SELECT accepted FROM "
      "syscall_connection WHERE accepted <> 0)) "
      "SELECT a.ts_ns AS at_ns, a.*, m.family AS family, CASE WHEN m.file IS NOT NULL THEN "
      "flags_text('socket_type', m.type & 15) END AS sock_type, s.text AS text, "
      "p.comm AS command FROM asked AS a LEFT JOIN made AS m ON a.file = m.file LEFT JOIN strings "
      "AS s ON a.address = s.string AND a.address <> 0 {} ORDER BY a.ts_ns, a.op_id",
      program_join("p", "a.pid", "a.ts_ns"));
}

constexpr std::string_view kLocal = "CASE WHEN event_type = 'BIND' THEN text END";
constexpr std::string_view kRemote = "CASE WHEN event_type IN ('ACCEPT', 'CONNECT') THEN text END";

// Owns the SQL that columns point to.
struct AddressSql {
  std::string version =
      fmt::format("coalesce({}, CASE family WHEN 'AF_INET' THEN 4 WHEN 'AF_INET6' THEN 6 END)",
                  version_of("text"));
  std::string local = host_of(kLocal);
  std::string remote = host_of(kRemote);
  std::string local_port = port_of(kLocal);
  std::string remote_port = port_of(kRemote);
  std::string from = host_of("from_address");
  std::string to = host_of("to_address");
  std::string from_port = port_of("from_address");
  std::string to_port = port_of("to_address");
  std::string packet_version = "CASE family WHEN 'AF_INET' THEN 4 WHEN 'AF_INET6' THEN 6 END";
};
const AddressSql& address_sql() {
  static const AddressSql kSql;
  return kSql;
}

Stream connections(Era era) {
  const bool is_current = era == Era::current;
  const AddressSql& sql = address_sql();
  Stream stream{
      .name = "nw_conn",
      .description = "Calls in the life of sockets.",
      .wall_clock = kEventClock,
      .columns = {kTimestamp,
                  {"event_type", "string", "",
                   "SOCKET_CREATE, BIND, LISTEN, ACCEPT, CONNECT, SHUTDOWN, CLOSE.", "event_type"},
                  kNetPid,
                  kNetTid,
                  kNetCommand,
                  {"domain", "string", "", "Address family.", "family"},
                  {"sock_type", "string", "", "Type of the socket.", "sock_type"}},
      .rows = connection_rows()};
  if (!is_current)
    stream.columns.push_back({"protocol", "string", "", "Always empty.", "NULL"});
  const Column rest[] = {
      {is_current ? "ipver" : "ip_version", "string", "", "4 or 6.", sql.version},
      {"local_addr", "string", "", "Address that was bound.", sql.local},
      {"remote_addr", "string", "", "Address of the peer.", sql.remote},
      {is_current ? "sport" : "local_port", "u16", "", "Port that was bound.", sql.local_port},
      {is_current ? "dport" : "remote_port", "u16", "", "Port of the peer.", sql.remote_port},
      kNetFd,
      {"backlog", "u32", "", "Length of the queue of listen.",
       "CASE WHEN event_type = 'LISTEN' THEN argument END"},
      {"shutdown_how", "string", "", "SHUT_RD, SHUT_WR, SHUT_RDWR.",
       "CASE WHEN event_type = 'SHUTDOWN' THEN CASE argument WHEN 0 THEN 'SHUT_RD' WHEN 1 THEN "
       "'SHUT_WR' WHEN 2 THEN 'SHUT_RDWR' END END"},
      {"latency_ns", "u64", "nanoseconds", "Duration of accept and connect.",
       "CASE WHEN event_type IN ('ACCEPT', 'CONNECT') AND NOT is_unfinished(result) THEN "
       "duration_ns END"},
      kNetReturn};
  stream.columns.insert(stream.columns.end(), std::begin(rest), std::end(rest));
  if (is_current)
    stream.columns.push_back(kMonoNs);
  return stream;
}

Stream options(Era era) {
  const bool is_current = era == Era::current;
  Stream stream{
      .name = "nw_sockopt",
      .description = "Socket options that were set or asked for.",
      .wall_clock = kEventClock,
      .columns = {kTimestamp,
                  {"event_type", "string", "", "SET or GET.",
                   "CASE call WHEN 'setsockopt' THEN 'SET' ELSE 'GET' END"},
                  kNetPid,
                  kNetCommand,
                  kNetFd,
                  {"level", "string", "", "Level of the option.",
                   "CASE WHEN option LIKE 'SO_%' THEN 'SOL_SOCKET' WHEN option LIKE 'TCP_%' THEN "
                   "'IPPROTO_TCP' WHEN option LIKE 'IPV6_%' THEN 'IPPROTO_IPV6' "
                   "WHEN option LIKE 'IP_%' THEN 'IPPROTO_IP' WHEN option LIKE 'UDP_%' THEN "
                   "'IPPROTO_UDP' WHEN TRY_CAST(option AS UBIGINT) IS NOT NULL THEN "
                   "CAST(TRY_CAST(option AS UBIGINT) // 65536 AS VARCHAR) END"},
                  {"option_name", "string", "", "The option.", "option"},
                  {is_current ? "optval" : "option_value", "s64", "",
                   "The value, if it is a number.", "value"},
                  kNetReturn},
      .rows =
          fmt::format("SELECT a.ts_ns AS at_ns, a.*, p.comm AS command FROM syscall_sockopt AS a "
                      "{} ORDER BY a.ts_ns, a.op_id",
                      program_join("p", "a.pid", "a.ts_ns"))};
  if (is_current)
    stream.columns.push_back(kMonoNs);
  return stream;
}

std::string drop_rows() {
  return fmt::format(
      "WITH asked AS (SELECT ts_ns, op_id, pid, 'PACKET_DROP' AS event_type, protocol AS proto, "
      "family, CASE direction WHEN 'received' THEN peer ELSE local END AS from_key, "
      "CASE direction WHEN 'received' THEN local ELSE peer END AS to_key, bytes, kernel_reason AS "
      "reason, NULL AS state FROM net_drop "
      "UNION ALL SELECT ts_ns, op_id, pid, 'TCP_RETRANSMIT', 'TCP', family, local, peer, 0, 0, "
      "state FROM net_retransmit) "
      "SELECT a.ts_ns AS at_ns, a.*, f.text AS from_address, t.text AS to_address, p.comm AS "
      "command "
      "FROM asked AS a LEFT JOIN strings AS f ON a.from_key = f.string AND a.from_key <> 0 "
      "LEFT JOIN strings AS t ON a.to_key = t.string AND a.to_key <> 0 {} ORDER BY a.ts_ns, "
      "a.op_id",
      program_join("p", "a.pid", "a.ts_ns"));
}

Stream drops(Era era) {
  const bool is_current = era == Era::current;
  const AddressSql& sql = address_sql();
  Stream stream{
      .name = "nw_drop",
      .description = "Dropped packets, and segments of TCP sent again.",
      .wall_clock = kEventClock,
      .columns =
          {kTimestamp,
           {"event_type", "string", "", "PACKET_DROP or TCP_RETRANSMIT.", "event_type"},
           kNetPid,
           kNetCommand,
           {is_current ? "proto" : "protocol", "string", "", "Protocol above IP.", "proto"},
           {is_current ? "ipver" : "ip_version", "string", "", "4 or 6.", sql.packet_version},
           {is_current ? "src_addr" : "source_addr", "string", "", "Source.", sql.from},
           {is_current ? "dst_addr" : "dest_addr", "string", "", "Destination.", sql.to},
           {is_current ? "sport" : "source_port", "u16", "", "Port of the source.", sql.from_port},
           {is_current ? "dport" : "dest_port", "u16", "", "Port of the destination.", sql.to_port},
           {is_current ? "skb_len" : "packet_size", "u32", "bytes", "Length of a dropped packet.",
            "bytes"},
           {"drop_reason", "u32", "", "The kernel's number of the reason.", "reason"},
           {"tcp_state", "string", "", "State of the connection, of segments sent again.",
            "state"}},
      .rows = drop_rows()};
  if (is_current)
    stream.columns.push_back(kMonoNs);
  return stream;
}

// Calls that send and receive. Addresses are those of the call, else of the connection.
Stream transfers() {
  const AddressSql& sql = address_sql();
  constexpr std::string_view kPart = "SELECT ts_ns, op_id, pid, file, address, bytes_requested, "
                                     "flags, duration_ns, result, {} AS sends FROM {}";
  return {
      .name = "nw",
      .description = "Calls that send or receive.",
      .wall_clock = kEventClock,
      .columns = {kTimestamp,
                  kNetPid,
                  kNetCommand,
                  {"protocol", "string", "", "TCP or UDP.",
                   "CASE WHEN family LIKE 'AF_INET%' THEN CASE type & 15 WHEN 1 THEN 'TCP' "
                   "WHEN 2 THEN 'UDP' END END"},
                  {"ip_version", "string", "", "4 or 6.", sql.packet_version},
                  {"source_addr", "string", "", "Source.", sql.from},
                  {"dest_addr", "string", "", "Destination.", sql.to},
                  {"source_port", "u16", "", "Port of the source.", sql.from_port},
                  {"dest_port", "u16", "", "Port of the destination.", sql.to_port},
                  {"size", "u64", "bytes", "Bytes moved.", "greatest(result, 0)"},
                  {"direction", "string", "", "send or receive.",
                   "CASE WHEN sends THEN 'send' ELSE 'receive' END"},
                  {"latency_ns", "u64", "nanoseconds", "Duration of the call.", "duration_ns"},
                  {"error_code", "s32", "", "0 or an errno.",
                   "CASE WHEN result < 0 THEN -result ELSE 0 END"},
                  {"msg_flags", "string", "", "MSG_* flags.",
                   "nullif(flags_text('msg', flags), '0')"}},
      .rows = fmt::format(
          "WITH made AS (SELECT file, any_value(family) AS family, any_value(type) AS type "
          "FROM syscall_socket WHERE file <> 0 GROUP BY file), peers AS (SELECT socket, "
          "any_value(address) AS address "
          "FROM connections WHERE socket <> 0 GROUP BY socket), asked AS ({} UNION ALL {}), "
          "named AS (SELECT a.* EXCLUDE (address), m.family AS family, m.type AS type, "
          "coalesce(s.text, c.address) AS peer, p.comm AS command FROM asked AS a LEFT JOIN "
          "made AS m ON a.file = m.file LEFT JOIN peers AS c ON a.file = c.socket "
          "LEFT JOIN strings AS s ON a.address = s.string AND a.address <> 0 {} WHERE NOT "
          "is_unfinished(a.result)) "
          "SELECT ts_ns AS at_ns, *, CASE WHEN NOT sends THEN peer END AS from_address, CASE WHEN "
          "sends THEN peer END AS to_address FROM named ORDER BY ts_ns, op_id",
          fmt::format(kPart, "true", "syscall_send"),
          fmt::format(kPart, "false", "syscall_receive"), program_join("p", "a.pid", "a.ts_ns"))};
}

Stream polls() {
  return {
      .name = "nw_epoll",
      .description = "Waits for sockets and other files.",
      .wall_clock = kEventClock,
      .columns = {kTimestamp,
                  {"event_type", "string", "", "EPOLL_CREATE, EPOLL_CTL, EPOLL_WAIT, POLL, SELECT.",
                   "event_type"},
                  kNetPid,
                  kNetTid,
                  kNetCommand,
                  {"epoll_fd", "s32", "", "Descriptor of epoll.",
                   "CASE WHEN epoll_fd >= 0 THEN epoll_fd END"},
                  {"target_fd", "s32", "", "Descriptor that is watched.", "target_fd"},
                  {"operation", "string", "", "Of epoll_ctl.", "operation"},
                  {"event_mask", "string", "", "Events of epoll_ctl.", "events"},
                  {"max_events", "u32", "", "Room for events.", "watched"},
                  {"ready_count", "s64", "", "Descriptors that were ready.", "ready"},
                  {"timeout_ms", "s64", "milliseconds", "Longest wait; -1: none.", "timeout_ms"},
                  {"latency_ns", "u64", "nanoseconds", "Duration of the call.",
                   "CASE WHEN NOT is_unfinished(result) THEN duration_ns END"}},
      .rows = fmt::format(
          "WITH asked AS (SELECT ts_ns, op_id, pid, tid, 'EPOLL_CREATE' AS "
          "event_type, result AS epoll_fd, NULL AS target_fd, NULL AS operation, "
          "NULL AS events, NULL AS watched, NULL AS ready, NULL AS timeout_ms, "
          "duration_ns, result FROM syscall_descriptor WHERE starts_with(call, "
          "'epoll_create') UNION ALL SELECT ts_ns, op_id, pid, tid, 'EPOLL_CTL', "
          "CAST(fd AS BIGINT), watched_fd, operation, "
          "nullif(flags_text('epoll', events), '0'), NULL, NULL, NULL, duration_ns, result FROM "
          "syscall_epoll_ctl UNION ALL SELECT ts_ns, op_id, pid, tid, CASE WHEN "
          "starts_with(call, 'epoll') THEN 'EPOLL_WAIT' WHEN "
          "contains(call, 'select') THEN 'SELECT' ELSE 'POLL' END, CASE WHEN "
          "starts_with(call, 'epoll') THEN CAST(fd AS BIGINT) END, NULL, NULL, "
          "NULL, watched, CASE WHEN result >= 0 THEN result END, "
          "CASE WHEN timeout_ns < 0 THEN -1 ELSE timeout_ns // 1000000 END, "
          "duration_ns, result FROM syscall_poll) SELECT a.ts_ns AS at_ns, a.*, "
          "p.comm AS command FROM asked AS a {} ORDER BY a.ts_ns, a.op_id",
          program_join("p", "a.pid", "a.ts_ns"))};
}

} // namespace

void add_network_streams(Era era, const Names&, std::vector<Stream>& all) {
  if (era == Era::seed)
    all.push_back(transfers());
  all.push_back(connections(era));
  if (era == Era::seed)
    all.push_back(polls());
  all.push_back(options(era));
  all.push_back(drops(era));
}

} // namespace iotrail::output::iotrc
