"""The AnnData face: tools compute and write (princdiff.tl), getters read (get), pictures draw (pl)."""
