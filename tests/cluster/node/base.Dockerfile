# What kind's published base image is, from Debian packages: systemd, containerd, runc, CNI plugins. "files" holds the
# files of images/base in the Go module of kind.
ARG DEBIAN
FROM ${DEBIAN}
RUN export DEBIAN_FRONTEND=noninteractive \
 && apt-get update \
 && apt-get install -y --no-install-recommends \
      systemd conntrack iptables nftables iproute2 ethtool util-linux mount kmod \
      libseccomp2 bash ca-certificates curl jq procps pigz \
      containerd runc containernetworking-plugins \
 && rm -rf /var/lib/apt/lists/* /usr/share/doc/* /usr/share/man/*
# After the packages, because containerd's brings an /etc/containerd/config.toml of its own.
COPY files/ /
COPY runc-within-bounds /usr/sbin/runc-within-bounds
# systemd shall start containerd and kubelet and nothing that wants hardware.
RUN chmod 0755 /usr/local/bin/* /usr/sbin/runc-within-bounds /kind /kind/bin /kind/bin/* \
 && find /lib/systemd/system/sysinit.target.wants/ -name systemd-tmpfiles-setup.service -delete \
 && rm -f /lib/systemd/system/multi-user.target.wants/* /etc/systemd/system/*.wants/* \
          /lib/systemd/system/local-fs.target.wants/* \
          /lib/systemd/system/sockets.target.wants/*udev* \
          /lib/systemd/system/sockets.target.wants/*initctl* \
          /lib/systemd/system/basic.target.wants/* \
 && echo ReadKMsg=no >> /etc/systemd/journald.conf \
 && ln -sf "$(which systemd)" /sbin/init \
 && ln -sf /usr/bin/containerd /usr/local/bin/containerd \
 && systemctl enable kubelet.service containerd.service undo-mount-hacks.service \
 && systemctl mask systemd-binfmt.service
# kind's kubeadm looks for plugins in /opt/cni/bin; each container gets kind's hook; oom scores may not be negative
# where CAP_SYS_RESOURCE is missing.
RUN mkdir -p /etc/kubernetes/manifests /opt/cni/bin /etc/cni/net.d /kind/manifests \
 && cp -a /usr/lib/cni/. /opt/cni/bin/ \
 && rm -f /etc/cni/net.d/* \
 && ctr oci spec \
     | jq '.hooks.createContainer[.hooks.createContainer| length] |= . + {"path": "/kind/bin/mount-product-files.sh"}' \
     | jq 'del(.process.rlimits)' > /etc/containerd/cri-base.json \
 && sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' /etc/containerd/config.toml \
 && mv /usr/sbin/runc /usr/sbin/runc.real \
 && mv /usr/sbin/runc-within-bounds /usr/sbin/runc
ENV container=docker
STOPSIGNAL SIGRTMIN+3
ENTRYPOINT [ "/usr/local/bin/entrypoint", "/sbin/init" ]
