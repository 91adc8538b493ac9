# One image for Mars itself and for the nodes of its Spark cluster: the same Python and packages everywhere.
FROM python:3.13-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home mars \
    && install -d -o mars -g mars /data /state

WORKDIR /opt/mars
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock
COPY . .
RUN pip install --no-cache-dir --no-deps -e . --config-settings editable_mode=compat \
    && chown -R mars:mars /opt/mars

USER mars
# Compiles the kernels for the processor of the building machine; another one compiles them at its first start.
RUN python -m mapper.warm
ENV MARS_DATA=/data
VOLUME ["/data", "/state"]
ENTRYPOINT ["mars"]
CMD ["up"]
