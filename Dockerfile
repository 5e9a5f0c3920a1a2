# kbsync as one static program in an empty image: nothing else is in it, so nothing else has to be patched.
#
#   docker build -t kbsync --build-arg VERSION=v1.2.3 --build-arg COMMIT="$(git rev-parse HEAD)" .
#
# The program takes its version and commit from the .git folder of the context; the two arguments label the image, and a build
# whose arguments say something else than the checkout fails.
ARG GO_VERSION=1.26.8

# Debian's image brings the C compiler and git: nothing is installed, so no version but this one is pinned.
FROM golang:${GO_VERSION}-bookworm AS build
WORKDIR /src
ARG VERSION=unknown
ARG COMMIT=unknown
ENV GOTOOLCHAIN=local GOFLAGS=-trimpath
# The context is read where it lies; modules and objects stay in caches from one build to the next.
RUN --mount=type=bind,target=/src \
    --mount=type=cache,target=/go/pkg/mod \
    --mount=type=cache,target=/root/.cache/go-build \
    VERSION="$VERSION" COMMIT="$COMMIT" scripts/build-static.sh /out/kbsync
RUN install -d -m 0770 /root-fs/data && install -d -m 1777 /root-fs/tmp

FROM scratch
ARG VERSION=unknown
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="kbsync" \
      org.opencontainers.image.description="Keeps vector databases in step with documents" \
      org.opencontainers.image.source="https://github.com/kbsync/kbsync" \
      org.opencontainers.image.documentation="https://github.com/kbsync/kbsync/blob/main/docs/deploy.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /usr/local/go/lib/time/zoneinfo.zip /zoneinfo.zip
COPY --from=build --chown=65532:65532 /root-fs/ /
COPY --from=build /out/kbsync /kbsync
# HOME is where the clients of clouds look for their settings.
ENV HOME=/data ZONEINFO=/zoneinfo.zip
# By number: Kubernetes can tell that it is not root only by that.
USER 65532:65532
WORKDIR /data
VOLUME ["/data"]
EXPOSE 9464
STOPSIGNAL SIGTERM
# The image has no shell and no other program that could ask.
HEALTHCHECK --interval=30s --timeout=6s --start-period=30s CMD ["/kbsync", "serve", "--probe"]
ENTRYPOINT ["/kbsync"]
CMD ["serve", "--listen", "0.0.0.0:9464"]
