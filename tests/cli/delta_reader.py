# Reads files of export --to delta as recsys-train-export(1) describes them, and applies them
# to rows in memory as a server would: python3 delta_reader.py FILE... prints what is known
# after the last, one row a line: table, id, numbers.
import struct
import sys


def crc32c(data):
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


# Numbers of a row by what the header of its table says of them.
def floats(data, at, n):
    return struct.unpack_from("<%df" % n, data, at)


def bf16(data, at, n):
    return [struct.unpack("<f", struct.pack("<I", x << 16))[0]
            for x in struct.unpack_from("<%dH" % n, data, at)]


def fp16(data, at, n):
    return struct.unpack_from("<%de" % n, data, at)


NUMBERS = [floats, bf16, fp16]


class Refused(Exception):
    pass


class Server:
    def __init__(self):
        self.model = self.sequence = None
        self.rows = {}
        self.deleted = 0

    def read(self, path):
        data = open(path, "rb").read()
        (magic, version, size, model, sequence, parent, n_tables, upserts, deletes, total, crc,
         _) = struct.unpack_from("<8sII7QII", data)
        if magic != b"RSDELTA\0" or version != 1 or total != len(data):
            raise Refused("%s is no delta" % path)
        if crc32c(data[size:]) != crc:
            raise Refused("%s is damaged" % path)
        if self.model not in (None, model):
            raise Refused("%s is of another model" % path)
        if self.sequence is not None and sequence <= self.sequence:
            raise Refused("%s: v%06d is here already" % (path, sequence))
        if self.sequence not in (None, parent):
            raise Refused("%s: v%06d is missing" % (path, parent))
        at = size
        seen = [0, 0]
        for _ in range(n_tables):
            at = self.table(data, at, seen)
        if seen != [upserts, deletes] or at != total:
            raise Refused("%s does not hold what its header says" % path)
        self.model, self.sequence = model, sequence
        self.deleted += deletes

    def table(self, data, at, seen):
        begin, end, n, n_gone, dim, n_slot, entry, kind = struct.unpack_from("<4Q4I", data,
                                                                            at + 32)
        entries, gone, size = struct.unpack_from("<3Q", data, at + 80)
        name = data[at + 144:at + 272].split(b"\0")[0].decode()
        for i in range(n):
            where = at + entries + i * entry
            key = name, struct.unpack_from("<Q", data, where)[0]
            self.rows[key] = NUMBERS[kind](data, where + 16, dim)
        for i in range(n_gone):
            key = name, struct.unpack_from("<Q", data, at + gone + 8 * i)[0]
            self.rows[key] = None
        seen[0] += n
        seen[1] += n_gone
        return at + size


if __name__ == "__main__":
    server = Server()
    try:
        for file in sys.argv[1:]:
            server.read(file)
    except Refused as why:
        sys.exit(str(why))
    for (table, number), row in sorted(server.rows.items()):
        print(table, number, "deleted" if row is None else " ".join("%.9g" % x for x in row))
