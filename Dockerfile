# The operator's image. `make image` makes the same one without a container engine.
#
#   docker build --build-arg VERSION="$(make -s version)" --build-arg REVISION="$(git rev-parse HEAD)" -t controlee .

ARG GO_VERSION=1.26
# What the program is put on: it needs nothing, so `scratch` works as well. The base brings CA certificates and time
# zones, which a Pod does not use: the API server's CA is mounted with its token.
ARG BASE=gcr.io/distroless/static:nonroot

FROM --platform=${BUILDPLATFORM} golang:${GO_VERSION} AS build
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=dev
WORKDIR /src
# .dockerignore lets in only what the next line needs.
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    make build GOOS="${TARGETOS}" GOARCH="${TARGETARCH}" VERSION="${VERSION}" OUT=/controlee

FROM ${BASE}
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="controlee" \
      org.opencontainers.image.description="A multi-tenant Kubernetes operator with strict RBAC" \
      org.opencontainers.image.source="https://github.com/controlee/controlee" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /controlee /controlee
# By number, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/controlee"]
