"""Asks a collection through an application's library, with that library's default names.

readers.py langchain|llamaindex DATABASE HOST:PORT HOST:PORT2 COLLECTION, the query's vector as JSON on standard input.
Prints the hits as a JSON list of {"id", "text", "metadata"}, best first.
"""
import json
import sys

library, database, addr, addr2, collection = sys.argv[1:6]
vector = json.load(sys.stdin)
host, port = addr.split(":")
port = int(port)
K = 3


def qdrant_client():
    from qdrant_client import QdrantClient

    return QdrantClient(host=host, port=port, grpc_port=port, prefer_grpc=True, check_compatibility=False)


def weaviate_client():
    import weaviate

    grpc_host, grpc_port = addr2.split(":")
    return weaviate.connect_to_custom(
        http_host=host, http_port=port, http_secure=False, grpc_host=grpc_host, grpc_port=int(grpc_port), grpc_secure=False
    )


def chroma_client():
    import chromadb

    return chromadb.HttpClient(host=host, port=port)


def langchain():
    from langchain_core.embeddings import Embeddings

    class Given(Embeddings):
        def embed_documents(self, texts):
            return [vector for _ in texts]

        def embed_query(self, text):
            return vector

    if database == "qdrant":
        from langchain_qdrant import QdrantVectorStore

        store = QdrantVectorStore(client=qdrant_client(), collection_name=collection, embedding=Given())
    elif database == "weaviate":
        from langchain_weaviate import WeaviateVectorStore

        store = WeaviateVectorStore(client=weaviate_client(), index_name=collection.capitalize(), text_key="text", embedding=Given())
    elif database == "milvus":
        from langchain_milvus import Milvus

        store = Milvus(embedding_function=Given(), connection_args={"uri": "http://" + addr}, collection_name=collection)
    elif database == "pgvector":
        from langchain_postgres import PGEngine, PGVectorStore

        engine = PGEngine.from_connection_string("postgresql+psycopg://postgres@%s/postgres" % addr)
        store = PGVectorStore.create_sync(engine=engine, table_name=collection, embedding_service=Given())
    else:
        from langchain_chroma import Chroma

        store = Chroma(client=chroma_client(), collection_name=collection, embedding_function=Given())
    return [{"id": d.id, "text": d.page_content, "metadata": d.metadata} for d in store.similarity_search_by_vector(vector, k=K)]


def llamaindex():
    from llama_index.core.vector_stores import VectorStoreQuery

    if database == "qdrant":
        from llama_index.vector_stores.qdrant import QdrantVectorStore

        store = QdrantVectorStore(client=qdrant_client(), collection_name=collection)
    elif database == "weaviate":
        from llama_index.vector_stores.weaviate import WeaviateVectorStore

        store = WeaviateVectorStore(weaviate_client=weaviate_client(), index_name=collection.capitalize())
    elif database == "milvus":
        from llama_index.vector_stores.milvus import MilvusVectorStore

        store = MilvusVectorStore(
            uri="http://" + addr, collection_name=collection, dim=len(vector), text_key="text", overwrite=False, output_fields=["path", "doc_id", "source"]
        )
    elif database == "pgvector":
        from llama_index.vector_stores.postgres import PGVectorStore

        store = PGVectorStore.from_params(
            host=host, port=str(port), database="postgres", user="postgres", password="x", table_name=collection.removeprefix("data_"), embed_dim=len(vector)
        )
    else:
        from llama_index.vector_stores.chroma import ChromaVectorStore

        store = ChromaVectorStore(chroma_collection=chroma_client().get_collection(collection))
    found = store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=K))
    return [{"id": n.node_id, "text": n.get_content(), "metadata": n.metadata} for n in found.nodes]


hits = langchain() if library == "langchain" else llamaindex()
print("\n" + json.dumps(hits, default=str))
sys.stdout.flush()
import os

os._exit(0)  # some clients leave threads behind
