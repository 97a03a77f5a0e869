"""Apache Arrow and Parquet to jax.Array: formats, datasets and a resumable, sharded loader."""
