# The app in a container: docker build -t rag-app . && docker run -p 127.0.0.1:8501:8501 -v rag-app:/data rag-app
# It listens on every address inside the container; publish it on 127.0.0.1, or have people sign in (docs/server.md).

FROM python:3.12-slim AS build
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY scripts/install.py scripts/
COPY rag_app rag_app/
# The language model is brought here, too, with what compares sentences (1.5 GB in the image);
# --build-arg WRITER=off leaves them out.
ARG WRITER=default
ENV RAG_APP_WRITER=$WRITER RAG_APP_MODELS_DIR=/models
RUN mkdir /models
# A build machine has no graphics card, so this takes the CPU build of torch. Same as `make install`.
RUN --mount=type=cache,target=/pip PIP_CACHE_DIR=/pip python scripts/install.py

FROM python:3.12-slim
RUN useradd --create-home --uid 10001 app && install --directory --owner=app --mode=700 /data
WORKDIR /app
COPY --from=build /app /app
COPY --from=build /models /models
COPY app.py ./
COPY .streamlit/config.toml .streamlit/
# Given its own address, Streamlit does not ask the internet for it when it listens everywhere.
ARG WRITER=default
ENV RAG_APP_WRITER=$WRITER RAG_APP_DATA_DIR=/data RAG_APP_MODELS_DIR=/models HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1 STREAMLIT_BROWSER_SERVER_ADDRESS=localhost
# Who reaches the published port may use the app, unless RAG_APP_SIGN_IN says otherwise: docs/server.md
ENV RAG_APP_SIGN_IN=none RAG_APP_OPEN_TO_ALL=yes
USER app
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD [".venv/bin/python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD [".venv/bin/rag-app", "--host", "0.0.0.0"]
