"""Reads a collection with an application's library and its defaults: read.py HOST:PORT langchain|llamaindex VECTOR-AS-JSON

Prints one JSON object a hit: id, text, metadata.
"""
import json
import sys

from qdrant_client import QdrantClient

host, port = sys.argv[1].split(":")
vector = json.loads(sys.argv[3])
client = QdrantClient(host=host, port=int(port), grpc_port=int(port), prefer_grpc=True, check_compatibility=False)


def show(id, text, metadata):
    print(json.dumps({"id": id, "text": text, "metadata": metadata}))


if sys.argv[2] == "langchain":
    from langchain_core.embeddings import Embeddings
    from langchain_qdrant import QdrantVectorStore

    class Given(Embeddings):
        def embed_documents(self, texts):
            return [vector for _ in texts]

        def embed_query(self, text):
            return vector

    store = QdrantVectorStore(client=client, collection_name="books", embedding=Given())
    for document in store.similarity_search("", k=2):
        show(document.metadata["_id"], document.page_content, document.metadata)
else:
    from llama_index.core.vector_stores import MetadataFilter, MetadataFilters, VectorStoreQuery
    from llama_index.vector_stores.qdrant import QdrantVectorStore

    store = QdrantVectorStore(client=client, collection_name="books")
    for filters in (None, MetadataFilters(filters=[MetadataFilter(key="n", value=3)])):
        for node in store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=2, filters=filters)).nodes:
            show(node.node_id, node.get_content(), node.metadata)
