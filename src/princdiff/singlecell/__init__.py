"""The AnnData face, in scanpy's manner: `tl` computes and writes, `get` reads, `pl` draws."""
