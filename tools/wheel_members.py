#!/usr/bin/env python3
"""Takes single files out of a wheel on a package index, without downloading the rest of it.

  tools/wheel_members.py FOLDER REQUIREMENT MEMBER...

REQUIREMENT is torch==2.11.0, say; the newest wheel that fits it and this Python is taken. MEMBER is a file's path in the
wheel, or a folder's with a slash at its end. They come to lie where `pip install --target FOLDER` puts them, and the
licences, which are always taken, with them. Each file's SHA-256 is compared with the wheel's RECORD.

Index and certificates are pip's (`pip config`, PIP_INDEX_URL, PIP_CERT), proxies and passwords those of requests. Exits
with 1 and one line where the index, a proxy or the wheel does not allow it; FOLDER may then hold files without meaning.
"""
import argparse
import base64
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import time
import urllib.parse
import zipfile
from html.parser import HTMLParser
from pathlib import Path

from pip._vendor import requests
from pip._vendor.packaging.requirements import InvalidRequirement, Requirement
from pip._vendor.packaging.tags import sys_tags
from pip._vendor.packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from pip._vendor.packaging.version import InvalidVersion
from pip._vendor.urllib3.exceptions import HTTPError

ANSWER_S = 30   # Until an answer begins, and between two pieces of it.
WHOLE_S = 1800  # For all that is taken.
PIECE = 1 << 20


class Refused(Exception):
    """Says why the files cannot be had this way."""


def pip_settings():
    """What pip is told by its files and by the environment, which counts more."""
    listed = subprocess.run([sys.executable, '-m', 'pip', 'config', 'list'], capture_output=True, text=True, timeout=60, check=False).stdout
    found = {(where, name): value for where, name, value in re.findall(r"^(\S+)\.(\S+?)='(.*)'$", listed, re.MULTILINE)}
    return {name: value for group in ('global', 'install', ':env:') for (where, name), value in found.items() if where == group}


class Links(HTMLParser):
    """The addresses of an index's page."""

    def __init__(self, page, base):
        super().__init__()
        self.base, self.found = base, []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        address = dict(attributes).get('href')
        if tag == 'a' and address:
            self.found.append(urllib.parse.urljoin(self.base, address))


def wheel_address(session, index, requirement):
    answer = session.get(f'{index.rstrip("/")}/{canonicalize_name(requirement.name)}/', timeout=ANSWER_S)
    answer.raise_for_status()
    preferred = {tag: place for place, tag in enumerate(sys_tags())}
    fitting = []
    for address in Links(answer.text, answer.url).found:
        file = urllib.parse.unquote(urllib.parse.urlsplit(address).path.rsplit('/', 1)[-1])
        try:
            name, version, build, tags = parse_wheel_filename(file)
        except (InvalidWheelFilename, InvalidVersion):
            continue
        places = [preferred[tag] for tag in tags if tag in preferred]
        if places and name == canonicalize_name(requirement.name) and requirement.specifier.contains(version):
            fitting.append(((version, -min(places), build), address.split('#')[0]))
    if not fitting:
        raise Refused(f'{index} has no wheel of {requirement} for this Python')
    return max(fitting)[1]


class FarFile(io.RawIOBase):
    """A file on a server, read from any place; what is read in one go is one request."""

    def __init__(self, session, address):
        super().__init__()
        self.session, self.address, self.place, self.stream, self.until = session, address, 0, None, time.monotonic() + WHOLE_S
        with self.ask('bytes=0-0') as answer:
            self.size = int(answer.headers['Content-Range'].rsplit('/', 1)[-1])

    def ask(self, places):
        answer = self.session.get(self.address, headers={'Range': places, 'Accept-Encoding': 'identity'}, stream=True, timeout=ANSWER_S)
        answer.raise_for_status()
        if answer.status_code != 206 or 'Content-Range' not in answer.headers:
            answer.close()
            raise Refused(f'{urllib.parse.urlsplit(self.address).hostname} gives no parts of files')
        return answer

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self.place

    def seek(self, offset, whence=io.SEEK_SET):
        place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.place, io.SEEK_END: self.size}[whence]
        if place != self.place and self.stream is not None:
            self.stream.close()
            self.stream = None
        self.place = place
        return place

    def readinto(self, buffer):
        if self.place >= self.size:
            return 0
        if time.monotonic() > self.until:
            raise Refused(f'what is wanted of {self.address} did not come within {WHOLE_S // 60} minutes')
        if self.stream is None:
            self.stream = self.ask(f'bytes={self.place}-')
        got = self.stream.raw.read(min(len(buffer), self.size - self.place))
        if not got:
            raise Refused(f'{self.address} ended at byte {self.place} of {self.size}')
        buffer[:len(got)] = got
        self.place += len(got)
        return len(got)


def is_wanted(name, members):
    return any(name.startswith(member) if member.endswith('/') else name == member for member in members) or re.match(
        r'[^/]+\.dist-info/(METADATA$|LICEN[CS]E|NOTICE|licenses/)', name) is not None


def take(wheel, members, folder):
    names = [name for name in wheel.namelist() if not name.endswith('/')]
    for member in members:
        if not any(is_wanted(name, [member]) and '.dist-info/' not in name for name in names):
            raise Refused(f'the wheel holds no {member}')
    record = next((name for name in names if re.fullmatch(r'[^/]+\.dist-info/RECORD', name)), None)
    if record is None:
        raise Refused('the wheel has no RECORD')
    sums = {row[0]: row[1] for row in csv.reader(io.StringIO(wheel.read(record).decode())) if len(row) == 3}
    wanted = sorted((item for item in wheel.infolist() if item.filename in names and is_wanted(item.filename, members)),
                    key=lambda item: item.header_offset)
    for item in wanted:
        to = (folder / item.filename).resolve()
        if not to.is_relative_to(folder.resolve()):
            raise Refused(f'{item.filename} leads out of the wheel')
        to.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with wheel.open(item) as source, to.open('wb') as file:
            while piece := source.read(PIECE):
                digest.update(piece)
                file.write(piece)
        is_sum = 'sha256=' + base64.urlsafe_b64encode(digest.digest()).decode().rstrip('=')
        if sums.get(item.filename) != is_sum:
            raise Refused(f'{item.filename} is not what the wheel says of it')
        if (item.external_attr >> 16) & 0o111:
            os.chmod(to, 0o755)


def main():
    parser = argparse.ArgumentParser(usage='tools/wheel_members.py FOLDER REQUIREMENT MEMBER...')
    parser.add_argument('folder', type=Path)
    parser.add_argument('requirement')
    parser.add_argument('members', nargs='+')
    arguments = parser.parse_args()
    try:
        with requests.Session() as session:
            settings = pip_settings()
            session.verify = settings.get('cert', True)
            address = wheel_address(session, settings.get('index-url', 'https://pypi.org/simple'), Requirement(arguments.requirement))
            # Buffered little: what lies between two files is not downloaded.
            with zipfile.ZipFile(io.BufferedReader(FarFile(session, address), 1 << 16)) as wheel:
                take(wheel, arguments.members, arguments.folder)
    except (Refused, InvalidRequirement, requests.RequestException, HTTPError, OSError, ValueError, zipfile.BadZipFile) as problem:
        sys.exit(f'wheel_members: {problem}')


if __name__ == '__main__':
    main()
