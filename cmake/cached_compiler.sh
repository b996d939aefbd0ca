#!/bin/sh
# cached_compiler.sh CHECKOUT CCACHE COMPILER ARGUMENT...: a compiler's call, through ccache, with paths relative to the checkout, so that
# another clone finds what this one compiled.
export CCACHE_BASEDIR="$1" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
shift
# A precompiled header that is there is read where it is made anew, and ccache counts it in: no other clone would find the new one, nor
# what is compiled with it.
for word; do
  case $word in
    *.gch) rm -f "$word" ;;
  esac
done
exec "$@"
