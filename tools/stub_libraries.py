#!/usr/bin/env python3
"""Stands in for shared libraries that a program needs to be loaded and never to run.

  tools/stub_libraries.py LIBRARY FOLDER

For each soname that LIBRARY, or what it needs, asks for and the dynamic loader does not find, writes into FOLDER a library
of that name which defines the symbols that are missing of that family, under the version that is asked for. Whoever calls
one of them gets a line on standard error and abort(). FOLDER has to be one that the loader searches for LIBRARY.

PyTorch's wheels need 3.5 GB of CUDA libraries in order to be imported, and none of them in order to train on a CPU.
Prints a line a library; exits with 1 where it could not write one. Needs gcc and binutils. LIBRARY has to be linked with the C
library, or ldd finds nothing.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = '''#include <stdlib.h>
#include <unistd.h>
static void Absent(void) {{
  static const char kText[] = "{soname} is a stand-in without code (tools/stub_libraries.py): nothing may call it\\n";
  (void)!write(2, kText, sizeof(kText) - 1);
  abort();
}}
'''


def output(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env={**os.environ, 'LC_ALL': 'C'})
    return done.stdout + done.stderr


def what_is_missing(library):
    """The sonames that the loader does not find, and by library the symbols that nobody defines for it."""
    said = output('ldd', '-r', library)
    sonames = sorted(set(re.findall(r'^\s*(\S+) => not found', said, re.MULTILINE)))
    undefined = {}
    for symbol, user in re.findall(r'undefined symbol: ([^\s,]+).*\((.+)\)$', said, re.MULTILINE):
        undefined.setdefault(user, set()).add(symbol)
    return sonames, undefined


def versions_asked_for(library):
    """(soname, version) by symbol. Not taken from ldd: it leaves versions out where only absent libraries have any."""
    asked, soname = {}, None
    for file, name, number in re.findall(r'File: (\S+)|Name: (\S+)\s+Flags: .*Version: (\d+)', output('readelf', '-VW', library)):
        if file:
            soname = file
        elif soname:  # What comes before the first File: are versions of its own.
            asked[number] = (soname, name)
    symbols = re.findall(r' UND (\S+)@\S+ \((\d+)\)$', output('readelf', '-W', '--dyn-syms', library), re.MULTILINE)
    return {symbol: asked[number] for symbol, number in symbols if number in asked}


def stem(soname):
    """'nvshmem' of libnvshmem_host.so.3: what the names of its functions begin with."""
    return re.match(r'(?:lib)?([A-Za-z0-9]+)', soname).group(1).lower()


def family(symbol, sonames):
    """The library by whose name a symbol begins; None where there is none (the interpreter's own symbols, say)."""
    fitting = [soname for soname in sonames if symbol.lower().startswith(stem(soname))]
    return max(fitting, key=lambda soname: len(stem(soname)), default=None)


def symbols_by_soname(sonames, undefined):
    """By soname: the version of each symbol, or None. Of a symbol asked for with and without a version, the one with it."""
    wanted = {soname: {} for soname in sonames}
    for library, symbols in sorted(undefined.items()):
        asked = versions_asked_for(library)
        for symbol in sorted(symbols):
            soname, version = asked.get(symbol, (family(symbol, sonames), None))
            if soname in wanted and (version or symbol not in wanted[soname]):
                wanted[soname][symbol] = version
    return wanted


def write_stub(folder, soname, symbols):
    """symbols: (name, version or None). A symbol without a version also answers whoever asks for one by name only."""
    source = SOURCE.format(soname=soname)
    nodes = {}
    for name, version in sorted(symbols):
        source += f'__attribute__((visibility("default"), alias("Absent"))) void {name}(void);\n'
        if version:
            nodes.setdefault(version, []).append(name)
    script = ''.join(f'{node} {{ global: {"; ".join(names)}; }};\n' for node, names in nodes.items())
    with tempfile.TemporaryDirectory() as scratch:
        code, versions = Path(scratch, 'stub.c'), Path(scratch, 'versions')
        code.write_text(source)
        versions.write_text(script)
        command = ['gcc', '-shared', '-fPIC', '-O1', '-fno-builtin', f'-Wl,-soname,{soname}', '-o', f'{folder}/{soname}', code]
        subprocess.run(command + ([f'-Wl,--version-script={versions}'] if nodes else []), check=True)


def main():
    if len(sys.argv) != 3:
        sys.exit('usage: tools/stub_libraries.py LIBRARY FOLDER')
    library, folder = Path(sys.argv[1]), Path(sys.argv[2])
    sonames, undefined = what_is_missing(library)
    for soname, symbols in symbols_by_soname(sonames, undefined).items():
        write_stub(folder, soname, symbols.items())
        print(f'{soname}: {len(symbols)} symbols')


if __name__ == '__main__':
    main()
