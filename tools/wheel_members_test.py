#!/usr/bin/env python3
"""Asks tools/wheel_members.py for files of a wheel on an index of this machine."""
import base64
import functools
import hashlib
import http.server
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile
from pathlib import Path

TOOL = Path(__file__).parent / 'wheel_members.py'
LARGE = os.urandom(4_000_000)
FILES = {'torch/lib/wanted.so': b'wanted' * 1000, 'torch/lib/large.so': LARGE, 'torch/include/a.h': b'a', 'torch/include/deep/b.h': b'b',
         'torch/includes': b'not a folder', 'torch-2.11.0.dist-info/LICENSE': b'licence'}


def wheel(path, files, record=None, info='torch-2.11.0'):
    """Writes a wheel of `files`; `record` replaces the sum that RECORD gives of a file."""
    name, version = info.split('-')
    files = {**files, f'{info}.dist-info/METADATA': f'Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n'.encode(),
             f'{info}.dist-info/WHEEL': b'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n'}
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip('=')
        lines.append(f'{name},sha256={(record or {}).get(name, digest)},{len(content)}\n')
    with zipfile.ZipFile(path, 'w') as archive:
        for name, content in files.items():
            item = zipfile.ZipInfo(name)
            item.external_attr = (0o100755 if name.endswith('.so') else 0o100644) << 16
            archive.writestr(item, content)
        archive.writestr(f'{info}.dist-info/RECORD', ''.join(lines) + f'{info}.dist-info/RECORD,,\n')


class Index(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, parts of its files too, and counts what it sent."""
    protocol_version = 'HTTP/1.1'
    gives_parts, cuts_after, sent = True, None, 0

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if path.is_dir():
            body = ''.join(f'<a href="../{file.name}">{file.name}</a>\n' for file in path.parent.glob('*.whl')).encode()
            self.answer(200, body, {'Content-Type': 'text/html'})
            return
        if not path.is_file():
            self.answer(404, b'', {})
            return
        content, places = path.read_bytes(), self.headers.get('Range')
        if places is None or not type(self).gives_parts:
            self.answer(200, content, {})
            return
        first, last = places.removeprefix('bytes=').split('-')
        last = min(int(last or len(content)), len(content) - 1)
        self.answer(206, content[int(first):last + 1], {'Content-Range': f'bytes {first}-{last}/{len(content)}'})

    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in {**headers, 'Content-Length': str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        cut = type(self).cuts_after
        if cut is not None and len(body) > cut:
            body = body[:cut]
            self.close_connection = True
        try:
            for at in range(0, len(body), 1 << 16):
                self.wfile.write(body[at:at + (1 << 16)])
                type(self).sent += len(body[at:at + (1 << 16)])
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


class IndexTest(unittest.TestCase):
    """Has an index at `address`, whose files lie in `folder`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / 'index'
        (self.folder / 'torch').mkdir(parents=True)
        self.index = type('ThisIndex', (Index,), {})
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(self.index, directory=self.folder))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.address = f'http://127.0.0.1:{server.server_port}'


class WheelMembers(IndexTest):
    def setUp(self):
        super().setUp()
        self.to = self.folder.parent / 'to'

    def take(self, *members, requirement='torch==2.11.0'):
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith('_proxy')}
        return subprocess.run([sys.executable, TOOL, self.to, requirement, *members], capture_output=True, text=True, timeout=60, check=False,
                              env={**environment, 'PIP_INDEX_URL': self.address})

    def expect_refused(self, what, *members, **arguments):
        done = self.take(*members, **arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ''), done.stderr)
        self.assertRegex(done.stderr, what)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def taken(self):
        return {str(path.relative_to(self.to)) for path in self.to.rglob('*') if path.is_file()}

    def test_takes_what_is_named_and_little_else_travels(self):
        wheel(self.folder / 'torch-2.11.0-py3-none-any.whl', FILES)
        done = self.take('torch/lib/wanted.so', 'torch/include/')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.taken(), {'torch/lib/wanted.so', 'torch/include/a.h', 'torch/include/deep/b.h', 'torch-2.11.0.dist-info/LICENSE',
                                        'torch-2.11.0.dist-info/METADATA'})
        self.assertEqual((self.to / 'torch/lib/wanted.so').read_bytes(), FILES['torch/lib/wanted.so'])
        self.assertTrue(os.access(self.to / 'torch/lib/wanted.so', os.X_OK))
        self.assertFalse(os.access(self.to / 'torch/include/a.h', os.X_OK))

    def test_what_lies_between_is_not_downloaded(self):
        wheel(self.folder / 'torch-2.11.0-py3-none-any.whl', {'torch/lib/wanted.so': b'wanted', 'torch/lib/large.so': LARGE * 10, 'torch/z': b'z'})
        self.assertEqual(self.take('torch/lib/wanted.so', 'torch/z').returncode, 0)
        # What the kernel holds on its way when a connection closes counts as sent.
        self.assertLess(self.index.sent, 30_000_000)

    def test_the_newest_wheel_that_fits_is_taken(self):
        wheel(self.folder / 'torch-2.11.0-py3-none-any.whl', {**FILES, 'torch/version.py': b'2.11.0'})
        wheel(self.folder / 'torch-2.11.2-py3-none-any.whl', {**FILES, 'torch/version.py': b'2.11.2'})
        wheel(self.folder / 'torch-2.11.3-cp27-cp27m-win32.whl', {**FILES, 'torch/version.py': b'another machine'})
        wheel(self.folder / 'torch-2.12.0-py3-none-any.whl', {**FILES, 'torch/version.py': b'2.12.0'})
        (self.folder / 'torch-odd.whl').write_bytes(b'no wheel')
        done = self.take('torch/version.py', requirement='torch==2.11.*')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.to / 'torch/version.py').read_bytes(), b'2.11.2')
        self.expect_refused('has no wheel of torch==3\\.0', 'torch/version.py', requirement='torch==3.0')

    def test_a_server_without_parts_is_named(self):
        wheel(self.folder / 'torch-2.11.0-py3-none-any.whl', FILES)
        self.index.gives_parts = False
        self.expect_refused('127.0.0.1 gives no parts of files', 'torch/include/')

    def test_a_file_that_is_not_what_the_wheel_says_is_refused(self):
        wheel(self.folder / 'torch-2.11.0-py3-none-any.whl', FILES, record={'torch/include/a.h': 'AAAA'})
        self.expect_refused('torch/include/a.h is not what the wheel says of it', 'torch/include/')

    def test_what_the_wheel_lacks_is_named(self):
        wheel(self.folder / 'torch-2.11.0-py3-none-any.whl', FILES)
        self.expect_refused('the wheel holds no torch/lib/absent.so', 'torch/include/', 'torch/lib/absent.so')
        self.expect_refused('the wheel holds no torch/other/', 'torch/other/')

    def test_a_path_out_of_the_folder_is_refused(self):
        wheel(self.folder / 'torch-2.11.0-py3-none-any.whl', {**FILES, 'torch/include/../../../out.h': b'out'})
        self.expect_refused('leads out of the wheel', 'torch/include/')
        self.assertFalse((self.to.parent / 'out.h').exists())

    def test_an_end_in_the_middle_is_said(self):
        wheel(self.folder / 'torch-2.11.0-py3-none-any.whl', FILES)
        self.index.cuts_after = 1_000_000
        self.expect_refused('ended|[Ii]ncomplete|broken', 'torch/lib/large.so')

    def test_no_wheel_no_index_no_requirement(self):
        (self.folder / 'torch-2.11.0-py3-none-any.whl').write_bytes(b'not a zip file' * 100)
        self.expect_refused('not a zip file', 'torch/include/')
        self.expect_refused('404', 'other/', requirement='other==1')
        self.expect_refused('==', 'torch/', requirement='torch==')
        self.address = 'http://127.0.0.1:1'
        self.expect_refused('Connection refused', 'torch/include/')


if __name__ == '__main__':
    unittest.main()
