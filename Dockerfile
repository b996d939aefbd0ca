# Images: operator, ps, worker (LibTorch for CPUs), worker-cuda (4 GB).
#
#   docker build --target ps -t paceline/ps:0.1.0 .      # compiles everything from source: half an hour on two cores
#   make images                                          # the same images around the programs of build/release
#
# Builds with docker, BuildKit or not, and with buildah. Debian 12's own libraries come from its packages, so that its
# security updates do too; LibTorch comes from PyPI's wheel, less what no program of ours maps.
ARG DEBIAN=debian:12-slim

# What is to be shipped, in programs/: one folder of /usr/local/bin per image, LibTorch's libraries, samples. A context
# that brings such a folder (tools/images assembles one) is believed; it must have been built on Debian 12.
FROM ${DEBIAN} AS programs
LABEL paceline.dev/stage=programs
WORKDIR /src
COPY . .
RUN test -d programs || tools/images compile programs

# --- what all images have
FROM ${DEBIAN} AS runtime
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      libabsl20220623 libcpp-httplib0.11 libfmt9 libprometheus-cpp-core1.0 libspdlog1.10 libssl3 libstdc++6 libyaml-cpp0.7 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* /usr/share/doc/* /usr/share/man/*
# No account of a host has this number. Nothing writes outside of mounted volumes; HOME is the pods' emptyDir.
ENV HOME=/tmp
USER 65532:65532
WORKDIR /

# --- operator: no gRPC, no LibTorch
FROM runtime AS operator
USER 0
RUN apt-get update \
 && apt-get install -y --no-install-recommends libcurl4 libjemalloc2 libsimdjson14 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* /usr/share/doc/* /usr/share/man/*
COPY --from=programs /src/programs/operator/ /usr/local/bin/
USER 65532:65532
ENTRYPOINT ["paceline-operator"]

# --- what speaks gRPC
FROM runtime AS rpc-runtime
USER 0
RUN apt-get update \
 && apt-get install -y --no-install-recommends libgrpc++1.51 libprotobuf32 zlib1g \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* /usr/share/doc/* /usr/share/man/*
USER 65532:65532

FROM rpc-runtime AS ps
COPY --from=programs /src/programs/ps/ /usr/local/bin/
ENTRYPOINT ["paceline-ps"]

# --- worker; the samples' models and data are in it, where relative paths of a TrainingJob start
FROM rpc-runtime AS worker
USER 0
COPY --from=programs /src/programs/libtorch/ /opt/libtorch/
RUN echo /opt/libtorch > /etc/ld.so.conf.d/libtorch.conf && ldconfig
COPY --from=programs /src/programs/samples/ /paceline/job/
COPY --from=programs /src/programs/worker/ /usr/local/bin/
USER 65532:65532
ENTRYPOINT ["paceline-worker"]

# --- the same program with LibTorch's CUDA half, which it loads with --device cuda; a job that asks for a GPU names it
FROM rpc-runtime AS worker-cuda
USER 0
ARG TORCH_VERSION=2.11.0
# One layer, so that what pip needs is in none; of the wheels, the libraries.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3-pip \
 && python3 -m pip install --no-cache-dir --no-compile --break-system-packages --target /opt/torch "torch==${TORCH_VERSION}" \
 && find /opt/torch -mindepth 1 -maxdepth 1 ! -name torch ! -name nvidia -exec rm -rf {} + \
 && find /opt/torch/torch -mindepth 1 -maxdepth 1 ! -name lib -exec rm -rf {} + \
 && apt-get purge -y --auto-remove ca-certificates python3-pip \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* /usr/share/doc/* /usr/share/man/* \
 && (echo /opt/torch/torch/lib && find /opt/torch/nvidia -name lib -type d) > /etc/ld.so.conf.d/libtorch.conf \
 && ldconfig
COPY --from=programs /src/programs/samples/ /paceline/job/
COPY --from=programs /src/programs/worker/ /usr/local/bin/
USER 65532:65532
ENTRYPOINT ["paceline-worker"]
