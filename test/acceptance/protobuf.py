# SPDX-License-Identifier: BSD-3-Clause
"""Reads messages of Protocol Buffers without their definition, for the acceptance tests."""


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def fields(data):
    """The fields of a message in their order: (number, value). Bytes are texts or messages."""
    at = 0
    found = []
    while at < len(data):
        key, at = varint(data, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            value, at = varint(data, at)
        elif wire_type == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif wire_type == 2:
            length, at = varint(data, at)
            assert at + length <= len(data)
            value, at = data[at:at + length], at + length
        else:
            raise AssertionError(f"wire type {wire_type}")
        found.append((number, value))
    return found


def message(data):
    """The same as lists by field number."""
    lists = {}
    for number, value in fields(data):
        lists.setdefault(number, []).append(value)
    return lists
