# The images that a node has before anything is pulled, one build target each. The context is the folder of binaries.
ARG DEBIAN
FROM ${DEBIAN} AS tools
RUN apt-get update \
 && apt-get install -y --no-install-recommends busybox-static \
 && rm -rf /var/lib/apt/lists/*

FROM scratch AS busybox
COPY --from=tools /bin/busybox /bin/busybox
RUN ["/bin/busybox", "--install", "-s", "/bin"]
ENV PATH=/bin
CMD ["sh"]

FROM scratch AS kube-apiserver
COPY kube-apiserver /usr/local/bin/
ENV PATH=/usr/local/bin

FROM scratch AS kube-controller-manager
COPY kube-controller-manager /usr/local/bin/
ENV PATH=/usr/local/bin

FROM scratch AS kube-scheduler
COPY kube-scheduler /usr/local/bin/
ENV PATH=/usr/local/bin

FROM scratch AS etcd
COPY etcd /usr/local/bin/
ENV PATH=/usr/local/bin

FROM scratch AS coredns
COPY coredns /coredns
ENTRYPOINT ["/coredns"]

FROM scratch AS pause
COPY pause /pause
ENTRYPOINT ["/pause"]

FROM busybox AS local-path-provisioner
COPY local-path-provisioner /usr/bin/
ENV PATH=/usr/bin:/bin
ENTRYPOINT ["local-path-provisioner"]

FROM ${DEBIAN} AS packet-filter
RUN apt-get update \
 && apt-get install -y --no-install-recommends iptables nftables conntrack kmod ipset iproute2 \
 && rm -rf /var/lib/apt/lists/*

FROM packet-filter AS kube-proxy
COPY kube-proxy /usr/local/bin/

FROM packet-filter AS kube-router
COPY kube-router /usr/local/bin/
