"""Files of arrays read by numpy and safetensors, against the text of a model.

usage: arrays_check.py STEM: STEM.npz, STEM.safetensors, STEM.NAME.npy and STEM.NAME.txt, the
first two also as STEM-f16 and STEM-int8; numbers of all of them are those of the texts.
"""
import glob
import io
import sys
import zipfile

import numpy
from safetensors.numpy import load_file, save

stem = sys.argv[1]
wanted = {}
for path in glob.glob(stem + '.*.txt'):
    with open(path) as lines:
        rows, columns = map(int, next(lines).split())
        name = path[len(stem) + 1:-4]
        wanted[name] = numpy.array([line.split()[1:] for line in lines],
                                   'f4').reshape(rows, columns)
        assert len(wanted[name]) == rows
assert len(wanted) > 4, wanted.keys()


def compare(found, what):
    found = dict(found)
    for name, full in wanted.items():
        scale = found.pop(name + '.scale', None)
        array = found.pop(name)
        assert array.dtype == (numpy.int8 if scale is not None else what), (name, array.dtype)
        if scale is not None:
            assert scale.dtype == numpy.float32 and scale.shape == (len(full),)
            off = numpy.abs(array * scale[:, None].astype('f8') - full)
            assert (off <= 0.50001 * scale[:, None]).all(), (name, off.max())
        elif what == numpy.float32:
            assert array.tobytes() == full.tobytes(), name
        else:
            assert array.reshape(full.shape).tobytes() == full.astype('f2').tobytes(), name
        assert array.shape in (full.shape, full.shape[:1]), name
    assert not found, found.keys()


for dtype, what in ('', 'f4'), ('-f16', 'f2'), ('-int8', 'f4'):
    compare(numpy.load(stem + dtype + '.npz'), numpy.dtype(what))
    assert zipfile.ZipFile(stem + dtype + '.npz').testzip() is None
    compare(load_file(stem + dtype + '.safetensors'), numpy.dtype(what))
compare({name: numpy.load(f'{stem}.{name}.npy', mmap_mode='r') for name in wanted},
        numpy.dtype('f4'))
# What numpy.save writes is what is there.
for name in wanted:
    again = io.BytesIO()
    numpy.save(again, numpy.load(f'{stem}.{name}.npy'))
    with open(f'{stem}.{name}.npy', 'rb') as file:
        assert file.read() == again.getvalue(), name
print(len(wanted), 'arrays')
