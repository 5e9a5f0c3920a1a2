// Package deps names modules that the sinks need, until they import them.
package deps

import (
	_ "github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/milvus-io/milvus-sdk-go/v2/client"
	_ "github.com/milvus-io/milvus-sdk-go/v2/entity"
	_ "github.com/pgvector/pgvector-go"
	_ "github.com/pgvector/pgvector-go/pgx"
	_ "github.com/qdrant/go-client/qdrant"
	_ "github.com/weaviate/weaviate-go-client/v4/weaviate"
	_ "github.com/weaviate/weaviate-go-client/v4/weaviate/auth"
	_ "github.com/weaviate/weaviate-go-client/v4/weaviate/filters"
	_ "github.com/weaviate/weaviate-go-client/v4/weaviate/graphql"
	_ "github.com/weaviate/weaviate-go-client/v4/weaviate/grpc"
	_ "github.com/weaviate/weaviate/entities/models"
	_ "google.golang.org/grpc"
)
